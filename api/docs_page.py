"""The routes as one page to read, made from the OpenAPI document; needs neither scripts nor a network."""

from collections import defaultdict
from collections.abc import Mapping
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

router = APIRouter(include_in_schema=False)

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code { font: 14px ui-monospace, monospace; } summary { cursor: pointer; padding: .2rem 0; }
.method { display: inline-block; width: 4.5rem; font-weight: 600; } table { border-collapse: collapse; }
td { padding: .1rem 1rem .1rem 0; vertical-align: top; } details > div { margin: 0 0 1rem 1.2rem; }
"""


@router.get("/docs")
async def docs(request: Request) -> Response:
    """Every route with its parameters and answers."""
    return HTMLResponse(page(request.app.openapi()))


def page(document: Mapping[str, Any]) -> str:
    """`document`, which is OpenAPI, as HTML."""
    sections: defaultdict[str, list[str]] = defaultdict(list)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            sections[operation["tags"][0]].append(_operation(method, path, operation))
    info = document["info"]
    title = f"{escape(info['title'])} {escape(info['version'])}"
    body = "".join(f"<h2>{escape(tag)}</h2>{''.join(found)}" for tag, found in sections.items())
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f"<h1>{title}</h1><p>{escape(info['description'])}</p>"
        f'<p>For programs: <a href="openapi.json">openapi.json</a></p>{body}</html>'
    )


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    parameters = "".join(_parameter(each) for each in operation.get("parameters", ()))
    answers = "".join(
        f"<tr><td>{code}</td><td>{escape(answer['description'])}</td></tr>"
        for code, answer in operation["responses"].items()
    )
    return (
        f'<details><summary><span class="method">{method.upper()}</span><code>{escape(path)}</code>'
        f" {escape(operation['summary'])}</summary><div><p>{escape(operation.get('description', ''))}</p>"
        f"<table>{parameters}</table><p>Answers</p><table>{answers}</table></div></details>"
    )


def _parameter(parameter: Mapping[str, Any]) -> str:
    name, place = escape(parameter["name"]), escape(parameter["in"])
    described = escape(parameter.get("description", ""))
    return f"<tr><td><code>{name}</code></td><td>{place}</td><td>{described}</td></tr>"
