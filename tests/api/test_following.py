import asyncio
from collections.abc import AsyncIterator
from io import BytesIO

import pytest

from api.clusters import Clusters
from api.following import Tail, follow
from api_world import BOOK, NODES, Api
from build import node
from store.archive import export_log, import_log
from store.engine import Store
from worker.clocks import SystemClock
from worker.windows import beginning_at


async def _ids(frames: AsyncIterator[bytes], count: int) -> list[int]:
    """The ids of the next `count` events."""
    found: list[int] = []
    while len(found) < count:
        chunk = await asyncio.wait_for(anext(frames), 30)
        found += [int(line[4:]) for line in chunk.splitlines() if line.startswith(b"id: ")]
    return found


def test_a_follower_sees_what_is_there_then_what_comes(store: Store) -> None:
    clusters = Clusters(store, "default", clock=SystemClock(), work=False)
    served = clusters.open("default")
    cluster = served.cluster

    async def run() -> None:
        cluster.apply([node("n1"), node("n2")])
        frames = follow(cluster.log, served.tail, 0)
        resumed = follow(cluster.log, served.tail, 1)
        assert await _ids(frames, 2) == [1, 2]
        assert await _ids(resumed, 1) == [2]
        waiting = [asyncio.ensure_future(_ids(each, 1)) for each in (frames, resumed)]
        await asyncio.to_thread(cluster.apply, [node("n3")])
        assert await asyncio.gather(*waiting) == [[3], [3]]
        ending = asyncio.ensure_future(anext(frames, None))
        await asyncio.to_thread(clusters.end_following)
        assert await asyncio.wait_for(ending, 30) is None

    asyncio.run(run())
    clusters.close()


def test_a_quiet_log_shows_that_it_is_alive(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.following.HEARTBEAT_S", 0.01)
    clusters = Clusters(sqlite_store, "default", clock=SystemClock(), work=False)
    served = clusters.open("default")

    async def first() -> bytes:
        return await anext(follow(served.cluster.log, served.tail, 0))

    assert asyncio.run(first()).startswith(b":")
    clusters.close()


def test_an_event_is_sent_as_it_is_stored(api: Api) -> None:
    api.post(NODES, node("n"))
    log, tail = api.served.cluster.log, Tail(api.clusters.store, "default")

    async def first() -> bytes:
        return await anext(follow(log, tail, 0))

    (event,) = log.read()
    expected = b'id: 1\nevent: NodeAdded\ndata: {"hash":"%b","event":%b}\n\n'
    assert asyncio.run(first()) == expected % (event.hash.hex().encode(), event.line)


def test_resuming_from_what_is_no_position_is_refused(api: Api) -> None:
    headers = {"Accept": "text/event-stream", "Last-Event-ID": "x"}
    assert api.refused("GET", f"{BOOK}/log", headers=headers) == (
        400,
        "BadRequest",
        'Last-Event-ID: Invalid value: "x": must be a position of the log',
    )


@pytest.mark.parametrize(
    ("query", "headers", "field"),
    [("", {"Last-Event-ID": "2"}, "Last-Event-ID"), ("?after=2", {}, "after")],
)
def test_a_follower_from_the_future_is_refused(
    api: Api, query: str, headers: dict[str, str], field: str
) -> None:
    """As of another log than this one: what comes next here is not what comes next there."""
    api.post(NODES, node("n"))
    accept = {"Accept": "text/event-stream"}
    refused = api.refused("GET", f"{BOOK}/log{query}", headers=accept | headers)
    assert refused == (410, "Expired", f"{field} 2 is in the future: the log ends at 1")


def test_a_window_of_a_log_is_read_from_where_it_begins(api: Api) -> None:
    api.post(NODES, *(node(f"n{number}") for number in range(6)))
    window = BytesIO()
    export_log(api.served.cluster.log, window, beginning=beginning_at(api.served.cluster, 4))
    window.seek(0)
    import_log(api.clusters.store, "w", window)
    served = api.clusters.open("w")

    async def first() -> bytes:
        async with asyncio.timeout(9):
            return await anext(follow(served.cluster.log, served.tail, 0))

    page = api.get(f"/clusters/w{BOOK}/log?limit=1")
    rest = api.get(f"/clusters/w{BOOK}/log?after={page['next']}")
    told = [item["event"]["position"] for item in page["items"] + rest["items"]]
    assert (told, rest["next"]) == ([5, 6], None)
    assert asyncio.run(first()).startswith(b"id: 5\n")
