"""Responses: plain data as JSON, and stored bytes passed through as they are."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from fastapi.responses import Response

from store.chain import StoredEvent

JSON = "application/json"

_encode = msgspec.json.Encoder().encode


def json_reply(body: Any, *, code: int = 200, warnings: Iterable[str] = ()) -> Response:
    """`body` as JSON; each of `warnings` as a header that kubectl prints."""
    return bytes_reply(_encode(body), code=code, warnings=warnings)


def bytes_reply(body: bytes, *, code: int = 200, warnings: Iterable[str] = ()) -> Response:
    """`body`, which is JSON already."""
    reply = Response(body, status_code=code, media_type=JSON)
    reply.raw_headers += [(b"warning", _warning(text)) for text in warnings]
    return reply


def item(event: StoredEvent) -> bytes:
    """An event of the log with its hash: the line stands in it byte for byte."""
    return b'{"hash":"%b","event":%b}' % (event.hash.hex().encode(), event.line)


def items_body(events: Sequence[StoredEvent], **more: Any) -> bytes:
    """A page of events in the given order, and beside it whatever else is to be said."""
    fields = b"".join(b',"%b":%b' % (name.encode(), _encode(value)) for name, value in more.items())
    return b'{"items":[%b]%b}' % (b",".join(map(item, events)), fields)


def _warning(text: str) -> bytes:
    """A Warning header's value, RFC 7234 §5.5, in ASCII; code 299 is what Kubernetes sends."""
    printable = "".join(each if each.isprintable() else " " for each in text)
    escaped = printable.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'.encode("ascii", "backslashreplace")
