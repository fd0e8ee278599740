"""HTML from templates. Whatever comes from an object is escaped."""

from collections.abc import Mapping
from typing import Any

from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from domain.explanation import title
from domain.times import without_zeros

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""A page runs no script and loads nothing from elsewhere."""


_environment = Environment(
    loader=PackageLoader("api.pages"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.filters |= {"subject": title, "time": without_zeros}


def html(template: str, values: Mapping[str, Any], *, code: int = 200) -> Response:
    """The page that `template` makes of `values`."""
    text = _environment.get_template(template).render(values)
    return HTMLResponse(text, status_code=code, headers=_HEADERS)
