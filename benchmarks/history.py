"""P17 and P18: the history of an object over HTTP, and in a log that grows."""

import asyncio
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec
from fastapi import FastAPI
from starlette.types import ASGIApp, Message

from api.app import create_app
from api.clusters import Clusters, Existing
from api.schemas import LogPage
from benchmarks.books import book, running
from benchmarks.harness import Row, median_ratio
from domain.admission.kinds import NODE
from domain.envelope import Draft
from store.engine import Store, open_store
from store.log import EventLog
from worker.clocks import SystemClock
from worker.history import events_of

EVENTS: Final = 200_000
TIMES: Final = 100
PAGE: Final = 1_000
SUBJECT: Final = "node-0000"
OLD: Final = "Pod/default/job-000000-0"
"""A Pod from the beginning of the book, so that its history is the same in the short one."""

_BATCH: Final = 10_000


def measure() -> list[Row]:
    """The rows of this module."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(str(Path(folder) / "book.db"), create=True, durable=False)
        long, short = _log(store, "long", book(EVENTS)), _log(store, "short", book(EVENTS // TIMES))
        _log(store, "one-node", running(nodes=1, gangs=PAGE // 4))
        rows = [_page(store), _one_object(long, short)]
        store.close()
    return rows


def _log(store: Store, stream: str, drafts: Iterator[Draft]) -> EventLog:
    log = EventLog(store, stream)
    while batch := list(islice(drafts, _BATCH)):
        log.append(batch, at=0)
    return log


def _page(store: Store) -> Row:
    """P17: stored bytes pass through, instead of being read and written again."""
    clusters = Clusters(store, "one-node", clock=SystemClock(), work=False)
    app, modelled = create_app(clusters), _with_model(clusters)
    with asyncio.Runner() as runner:
        run = runner.get_loop().run_until_complete  # Runner.run itself costs as much as a small page

        def ours() -> Any:
            query = f"limit={PAGE}".encode()
            return run(_get(app, f"/ganger/v1/nodes/{SUBJECT}/history", query))

        def response_model() -> Any:
            return run(_get(modelled, "/history", b""))

        page = msgspec.json.decode(ours())
        assert page == msgspec.json.decode(response_model())
        assert len(page["items"]) == PAGE
        faster = median_ratio(ours, response_model, runs=21)
    clusters.close()
    what = f"history page of {PAGE:,} events over HTTP"
    return Row("P17", what, "the same page through a response model", faster, "≥ 5×", faster >= 5)


def _with_model(clusters: Clusters) -> FastAPI:
    """The same page as FastAPI makes it if it is told the model of the response."""
    app = FastAPI()
    app.state.clusters = clusters

    @app.get("/history", response_model_exclude_unset=True)
    def history(served: Existing) -> LogPage:
        events = list(events_of(served.cluster.log, NODE, SUBJECT, limit=PAGE + 1))
        items = [
            {"hash": event.hash.hex(), "event": msgspec.json.decode(event.line)} for event in events[:PAGE]
        ]
        return LogPage.model_validate(
            {"items": items, "next": events[PAGE - 1].position if len(events) > PAGE else None}
        )

    return app


async def _get(app: ASGIApp, path: str, query: bytes) -> bytes:
    """The body of a GET, without a network in between."""
    body = bytearray()
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query,
        "headers": [],
        "client": None,
        "server": None,
    }

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            assert message["status"] == 200
        else:
            body.extend(message["body"])

    await app(scope, receive, send)
    return bytes(body)


def _one_object(long: EventLog, short: EventLog) -> Row:
    """P18: an index finds the events of an object, however many others there are."""

    def in_long() -> list[Any]:
        return list(long.history(OLD))

    def in_short() -> list[Any]:
        return list(short.history(OLD, until=EVENTS // TIMES))

    assert [each.type for each in islice(in_long(), 3)] == [each.type for each in islice(in_short(), 3)]
    slower = 1 / median_ratio(in_long, in_short, runs=101)
    what = f"history of one Pod in a log of {EVENTS:,} events"
    return Row("P18", what, f"in one of {EVENTS // TIMES:,}", slower, "≤ 1.5×", slower <= 1.5)
