"""Watches: lists that are followed as the log grows.

One reader goes through the log for all clients of a cluster and keeps the newest changes; each client takes
from those what it selects, at its own pace. Whoever begins further back, or is too slow, reads the log for
itself until it has caught up. Source: k8s.io/apiserver, storage/cacher; KEP-3157.
"""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Final, TypeAlias

import msgspec
from starlette.concurrency import run_in_threadpool

from api.following import Tail
from api.listing import Selection, is_selected
from api.resource import Resource
from domain.errors import Expired, GangerError
from worker.changes import Change, Changes
from worker.cluster import Cluster
from worker.status import status_body

PAGE: Final = 500
"""Events that are read at a time."""

KEPT: Final = 2_000
"""Changes that are kept for clients that are behind."""

MOST_BEHIND: Final = 8
"""Clients that may read the log for themselves at a time, each in a State of its own; more are told to
list again."""

BOOKMARK_S: Final = 60.0
"""Seconds after which a client that wants bookmarks is told how far a quiet watch has come."""

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"

_encode = msgspec.json.Encoder().encode


class Broadcast:
    """The newest changes of a cluster, read once for all who watch; for one event loop."""

    def __init__(self, cluster: Cluster, tail: Tail) -> None:
        self._cluster = cluster
        self._tail = tail
        self._watching = 0
        self._behind = 0
        self._changes: Changes | None = None
        self._reading: asyncio.Future[None] | None = None
        self._kept: list[Change] = []
        self._begins = self._ends = 0
        """The positions between which all changes are kept."""

    async def follow(self, position: int, every_s: float, until: float) -> AsyncGenerator["Progress"]:
        """What changes after `position`, until the time `until` of the event loop or the end of the server.

        Without changes there is word every `every_s` seconds. Raises Expired if the changes are out of reach,
        now or as soon as the client is too slow.
        """
        self._watching += 1
        try:
            while not self._tail.closed:
                if self._changes is None:
                    await self._read(position)
                if position < self._begins:
                    async for progress in self._catch_up(position):
                        position = progress.position
                        yield progress
                elif position < self._ends:
                    progress = self._after(position)
                    position = progress.position
                    yield progress
                else:
                    left = until - asyncio.get_running_loop().time()
                    if left <= 0:
                        return
                    if await self._tail.wait(position, min(every_s, left)):
                        await self._read(position)
                    else:
                        yield Progress((), position)
        finally:
            self._watching -= 1
            if not self._watching:
                self._changes = None
                self._kept = []
                self._begins = self._ends

    def _after(self, position: int) -> "Progress":
        first = bisect_right(self._kept, position, key=lambda change: change.position)
        return Progress(tuple(self._kept[first:]), self._ends)

    async def _read(self, position: int) -> None:
        """Read on in the log, once for all who wait for it; the first of them begins at its `position`."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.ensure_future(self._read_on(position))
        await asyncio.shield(self._reading)

    async def _read_on(self, position: int) -> None:
        changes = self._changes
        if changes is None:
            changes = await run_in_threadpool(self._begin, position)
            self._changes, self._kept = changes, []
            self._begins = self._ends = changes.position
        new = await run_in_threadpool(changes.read, PAGE)
        self._kept += new
        self._ends = changes.position
        if len(self._kept) > 2 * KEPT:
            self._begins = self._kept[-KEPT - 1].position
            first = bisect_right(self._kept, self._begins, key=lambda change: change.position)
            del self._kept[:first]

    def _begin(self, position: int) -> Changes:
        """At `position`, but near the head of the log: nobody is to wait for somebody far behind."""
        return Changes(self._cluster, max(position, self._cluster.log.head().position - PAGE))

    async def _catch_up(self, position: int) -> AsyncGenerator["Progress"]:
        if self._behind >= MOST_BEHIND:
            raise too_old(position, self._begins)
        self._behind += 1
        try:
            changes = await run_in_threadpool(Changes, self._cluster, position)
            while changes.position < self._begins and not self._tail.closed:
                new = await run_in_threadpool(changes.read, min(PAGE, self._begins - changes.position))
                yield Progress(tuple(new), changes.position)
        finally:
            self._behind -= 1


class Progress(msgspec.Struct, frozen=True):
    """Changes, and the position up to which there are no others."""

    changes: tuple[Change, ...]
    position: int


def too_old(position: int, oldest: int) -> Expired:
    """The refusal to go back to `position`, in Kubernetes' words."""
    return Expired(f"too old resource version: {position} ({oldest})")


Form: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class Watch(msgspec.Struct, frozen=True, kw_only=True):
    """What a client watches, and how; `timeout_s`: after so many seconds it ends.

    `form` makes of an object what the client wants to see of it.
    """

    resource: Resource
    selection: Selection
    bookmarks: bool
    timeout_s: float
    form: Form = dict


async def watch(broadcast: Broadcast, asked: Watch, position: int) -> AsyncGenerator[bytes]:
    """A line for each change after `position`, until the time is up. What goes wrong is the last one."""
    now = asyncio.get_running_loop().time
    until, due = now() + asked.timeout_s, now() + BOOKMARK_S
    try:
        async with aclosing(broadcast.follow(position, BOOKMARK_S, until)) as progresses:
            async for progress in progresses:
                if lines := b"".join(_lines(progress.changes, asked)):
                    yield lines
                if asked.bookmarks and now() >= due:
                    due = now() + BOOKMARK_S
                    yield bookmark(asked.resource, progress.position)
    except GangerError as error:
        yield error_line(error)


def _lines(changes: Iterable[Change], asked: Watch) -> Iterator[bytes]:
    for change in changes:
        if change.kind != asked.selection.kind.name:
            continue
        before, after = change.before, change.after
        was = before is not None and is_selected(asked.selection, before)
        if after is not None and is_selected(asked.selection, after):
            yield object_line("MODIFIED" if was else "ADDED", asked, after)
        elif before is not None and was:
            yield object_line("DELETED", asked, _as_of(before, change.position))


def object_line(kind: str, asked: Watch, manifest: Mapping[str, Any]) -> bytes:
    """A line that says that an object was ADDED, MODIFIED or DELETED."""
    return _line(kind, asked.form(asked.resource.shown(manifest)))


def bookmark(resource: Resource, position: int, annotations: Mapping[str, str] | None = None) -> bytes:
    """A line that says that everything up to `position` has been told."""
    metadata: dict[str, Any] = {"resourceVersion": str(position), "creationTimestamp": None}
    if annotations:
        metadata["annotations"] = annotations
    return _line("BOOKMARK", resource.shown({"metadata": metadata}))


def error_line(error: GangerError) -> bytes:
    """A line that says why a watch ends."""
    return _line("ERROR", status_body(error))


def _line(kind: str, shown: Mapping[str, Any]) -> bytes:
    return _encode({"type": kind, "object": shown}) + b"\n"


def _as_of(manifest: Mapping[str, Any], position: int) -> dict[str, Any]:
    """An object as it last was, with the position at which it went out of sight as its version."""
    return {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": str(position)}}
