import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.clusters import Clusters, Served
from api.following import Tail
from api.listing import Selection, list_objects
from api.resource import Resource, resources
from api.selectors import parse_fields, parse_labels
from api.watching import Broadcast, Watch, watch
from api_world import CORE, GROUPS, NODES, PODS, Api
from books import Book
from build import group, node, pod
from domain.admission.kinds import KINDS, POD
from domain.incomplete import as_of
from domain.state import State
from domain.upcast import draft
from ganger_testing.strategies import books
from store.engine import Store
from store.log import EventLog
from worker.changes import Change, Changes
from worker.clocks import SystemClock, VirtualClock
from worker.cluster import Cluster

SINCE_1 = "watch=true&resourceVersion=1"
FRESH = "resourceVersionMatch=NotOlderThan"


@pytest.fixture
def hasty(api: Api, monkeypatch: pytest.MonkeyPatch) -> Api:
    """A watch ends here as soon as it has told all there is."""
    monkeypatch.setattr("api.watches.LONGEST_S", 0.0)
    return api


def _lines(api: Api, path: str) -> list[dict[str, Any]]:
    reply = api.client.get(path)
    assert (reply.status_code, reply.headers["content-type"]) == (200, "application/json"), reply.text
    return [json.loads(line) for line in reply.text.splitlines()]


def _told(api: Api, path: str) -> list[tuple[str, str, int]]:
    """What a watch says: type, name and version of each line."""
    return [_brief(line) for line in _lines(api, path)]


def _brief(line: dict[str, Any]) -> tuple[str, str, int]:
    metadata = line["object"]["metadata"]
    return line["type"], metadata.get("name", ""), _version(line["object"])


@pytest.fixture
def history(hasty: Api) -> Api:
    """Position 1: Node n; 2: Pod a; 3: which gets a label; 4: Pod b elsewhere. Then both are bound and run;
    at last Pod a loses its label and is deleted, and there is a PodGroup g."""
    api = hasty
    api.post(NODES, node("n"))
    (created,) = api.post(PODS, pod("a"))
    labelled = created | {"metadata": created["metadata"] | {"labels": {"app": "x"}}}
    assert api.client.put(f"{PODS}/a", json=labelled).status_code == 200
    api.post(f"{CORE}/namespaces/team/pods", pod("b", namespace="team"))
    api.settle()
    head = api.served.cluster.log.head().position
    bare = api.get(f"{PODS}/a")
    del bare["metadata"]["labels"]
    assert api.client.put(f"{PODS}/a", json=bare).status_code == 200
    assert api.client.delete(f"{PODS}/a?gracePeriodSeconds=0").status_code == 200
    api.post(GROUPS, group("g", 1))
    assert api.get(PODS)["metadata"]["resourceVersion"] == str(head + 3)
    return api


def _types(api: Api) -> list[str]:
    return [event.type for event in api.served.cluster.log.read()]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(f"{NODES}?watch=true&resourceVersion=1", "", id="nothing new"),
        pytest.param(f"{PODS}?{SINCE_1}", "A a, M a, M a, M a, M a, D a", id="a Pod's life"),
        pytest.param(f"{PODS}?watch=1&resourceVersion=3", "M a, M a, M a, D a", id="from the middle on"),
        pytest.param(
            f"{PODS}?watch=True&resourceVersion=1&labelSelector=app", "A a, M a, M a, D a", id="by label"
        ),
        pytest.param(
            f"{PODS}?{SINCE_1}&fieldSelector=spec.nodeName%3D",
            "A a, M a, D a",
            id="unbound",
        ),
        pytest.param(
            f"{PODS}?{SINCE_1}&fieldSelector=spec.nodeName%3Dn",
            "A a, M a, M a, D a",
            id="bound",
        ),
        pytest.param(
            f"{CORE}/namespaces/team/pods?watch=true&resourceVersion=1", "A b, M b, M b", id="a namespace"
        ),
        pytest.param(
            f"{CORE}/pods?{SINCE_1}&fieldSelector=metadata.name%3Db",
            "A b, M b, M b",
            id="a name",
        ),
        pytest.param(f"{CORE}/pods?watch=true", "A b", id="what there is"),
        pytest.param(f"{CORE}/pods?watch=true&resourceVersion=0", "A b", id="what there is, in any version"),
        pytest.param(
            f"{CORE}/pods?watch=true&sendInitialEvents=false&{FRESH}",
            "",
            id="from now",
        ),
        pytest.param(
            f"{CORE}/pods?watch=true&sendInitialEvents=true&{FRESH}&resourceVersion=2&allowWatchBookmarks=true",
            "A b, B ",
            id="what there is, then a bookmark",
        ),
    ],
)
def test_what_a_watch_tells(history: Api, path: str, expected: str) -> None:
    told = _told(history, path)
    assert ", ".join(f"{kind[0]} {name}" for kind, name, _ in told) == expected
    assert all(before[2] <= after[2] for before, after in pairwise(told))


def test_an_object_is_told_as_it_was(history: Api) -> None:
    told = _lines(history, f"{CORE}/pods?watch=true&resourceVersion=1")
    assert {line["type"] for line in told} == {"ADDED", "MODIFIED", "DELETED"}
    for line in told:
        metadata = line["object"]["metadata"]
        path = f"{CORE}/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
        if line["type"] != "DELETED":
            assert line["object"] == history.get(f"{path}?at={metadata['resourceVersion']}")
        else:
            before = history.get(f"{path}?at={int(metadata['resourceVersion']) - 1}")
            assert line["object"] == before | {"metadata": before["metadata"] | metadata}


def test_an_object_that_is_no_longer_selected_has_the_version_of_that(history: Api) -> None:
    *_, last = _lines(history, f"{PODS}?{SINCE_1}&labelSelector=app")
    position = _types(history).index("PodDeleted")
    assert (last["object"]["metadata"]["labels"], int(last["object"]["metadata"]["resourceVersion"])) == (
        {"app": "x"},
        position,
    )


def test_each_version_in_its_own_form(history: Api) -> None:
    head = int(history.get(GROUPS)["metadata"]["resourceVersion"])
    for version in ("v1beta1", "v1alpha3"):
        path = GROUPS.replace("v1beta1", version)
        (line,) = _lines(history, f"{path}?watch=true&resourceVersion={head - 1}")
        assert (line["type"], line["object"]) == ("ADDED", history.get(f"{path}/g"))


def test_a_bookmark_has_the_position(history: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.watching.BOOKMARK_S", 0.0)
    head = int(history.get(PODS)["metadata"]["resourceVersion"])
    (line,) = _lines(history, f"{NODES}?watch=true&resourceVersion=1&allowWatchBookmarks=true")
    assert line == {
        "type": "BOOKMARK",
        "object": {
            "kind": "Node",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": str(head), "creationTimestamp": None},
        },
    }
    assert _lines(history, f"{NODES}?watch=true&resourceVersion=1") == []


def test_the_end_of_what_there_was_is_marked(history: Api) -> None:
    path = f"{NODES}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    added, marked = _lines(history, f"{path}&allowWatchBookmarks=true")
    assert added["object"] == history.get(f"{NODES}/n")
    assert marked["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert [line["type"] for line in _lines(history, path)] == ["ADDED"]


def test_the_future_is_an_error_in_the_stream(hasty: Api) -> None:
    hasty.post(NODES, node("n"))
    (line,) = _lines(hasty, f"{NODES}?watch=true&resourceVersion=9")
    assert line["type"] == "ERROR"
    assert {name: line["object"][name] for name in ("kind", "code", "reason", "message")} == {
        "kind": "Status",
        "code": 410,
        "reason": "Expired",
        "message": "resourceVersion 9 is in the future: the log ends at 1",
    }


def test_what_was_compacted_is_an_error_in_the_stream(hasty: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    hasty.post(NODES, node("n"), node("m"), node("o"))
    monkeypatch.setattr(EventLog, "begins_after", lambda self: 2)
    (line,) = _lines(hasty, f"{NODES}?watch=true&resourceVersion=1")
    assert (line["type"], line["object"]["code"]) == ("ERROR", 410)
    assert line["object"]["message"] == "too old resource version: 1 (2)"


OPTIONS = 'ListOptions.meta.k8s.io "" is invalid:'
NEEDS_MATCH = (
    "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
)
NEEDS_INITIAL = (
    "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is"
    " provided"
)
NOT_EXACT = 'resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"'


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param(
            "resourceVersion=new",
            (400, 'resourceVersion: Invalid value: "new": must be a position of the log'),
            id="no version",
        ),
        pytest.param(
            "at=-5m",
            (400, 'at: Invalid value: "-5m": a watch is of the present: it begins at a resourceVersion'),
            id="the past",
        ),
        pytest.param(
            "labelSelector=a+b",
            (400, "labelSelector: Invalid value: \"a b\": unable to parse requirement 'a b'"),
            id="no labels",
        ),
        pytest.param(
            "timeoutSeconds=-1",
            (400, 'timeoutSeconds: Invalid value: "-1": must be greater than or equal to 0'),
            id="less than no time",
        ),
        pytest.param(
            "sendInitialEvents=true",
            (422, f"{OPTIONS} {NEEDS_MATCH}"),
            id="initial events without a match",
        ),
        pytest.param(
            "resourceVersionMatch=NotOlderThan",
            (422, f"{OPTIONS} {NEEDS_INITIAL}"),
            id="a match without initial events",
        ),
        pytest.param(
            "resourceVersionMatch=Exact&sendInitialEvents=true",
            (422, f"{OPTIONS} [{NEEDS_MATCH}, {NOT_EXACT}]"),
            id="an exact version",
        ),
    ],
)
def test_what_cannot_be_watched(hasty: Api, query: str, expected: tuple[int, str]) -> None:
    hasty.post(NODES, node("n"))
    code, _, message = hasty.refused("GET", f"{NODES}?watch=true&{query}")
    assert (code, message) == expected


def test_a_cluster_that_is_not_there_cannot_be_watched(hasty: Api) -> None:
    assert hasty.refused("GET", f"/clusters/absent{NODES}?watch=true")[0] == 404


NODE = next(resource for resource in resources() if resource.kind.name == "Node")
ALL_NODES = Watch(resource=NODE, selection=Selection(NODE.kind), bookmarks=False, timeout_s=60.0)


class Live:
    """A served cluster, and watches of it, on an event loop of their own."""

    def __init__(self, store: Store) -> None:
        self.clusters = Clusters(store, "default", clock=SystemClock(), work=False)
        self.served: Served = self.clusters.open("default")
        self.broadcast: Broadcast = self.served.broadcast

    async def add(self, *names: str) -> None:
        await asyncio.to_thread(self.served.cluster.apply, [node(name) for name in names])

    def watch(self, position: int) -> AsyncIterator[bytes]:
        return watch(self.broadcast, ALL_NODES, position)


async def _names(lines: AsyncIterator[bytes], count: int) -> str:
    """The names of the next `count` objects."""
    found: list[str] = []
    while len(found) < count:
        chunk = await asyncio.wait_for(anext(lines), 30)
        found += [json.loads(line)["object"]["metadata"]["name"] for line in chunk.splitlines()]
    return "".join(found)


@pytest.fixture
def live(store: Store) -> Live:
    return Live(store)


def test_all_who_watch_hear_of_what_comes(live: Live) -> None:
    async def run() -> None:
        await live.add("a", "b")
        first, second = live.watch(0), live.watch(1)
        assert await _names(first, 2) == "ab"
        assert await _names(second, 1) == "b"
        waiting = [asyncio.ensure_future(_names(each, 1)) for each in (first, second)]
        await live.add("c")
        assert await asyncio.gather(*waiting) == ["c", "c"]
        ending = asyncio.ensure_future(anext(first, None))
        await asyncio.to_thread(live.clusters.end_following)
        assert await asyncio.wait_for(ending, 30) is None
        assert await anext(second, None) is None
        assert live.broadcast._changes is None

    asyncio.run(run())
    live.clusters.close()


def test_who_comes_while_the_last_one_leaves_misses_nothing(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, go_on = threading.Event(), threading.Event()
    read = Changes.read

    def held_up(changes: Changes, limit: int) -> list[Change]:
        if changes.position > 0:
            held.set()
            assert go_on.wait(30)
        return read(changes, limit)

    async def run() -> None:
        await live.add("a")
        leaving = live.watch(0)
        assert await _names(leaving, 1) == "a"
        monkeypatch.setattr(Changes, "read", held_up)
        last = asyncio.ensure_future(_names(leaving, 1))
        await live.add("b")
        assert await asyncio.to_thread(held.wait, 30)
        last.cancel()
        await asyncio.gather(last, return_exceptions=True)
        coming = asyncio.ensure_future(_names(live.watch(0), 2))
        await asyncio.sleep(0)
        go_on.set()
        assert await coming == "ab"

    asyncio.run(run())
    live.clusters.close()


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of two events, and no more than two changes kept."""
    monkeypatch.setattr("api.watching.PAGE", 2)
    monkeypatch.setattr("api.watching.KEPT", 2)


@pytest.mark.usefixtures("narrow")
def test_who_is_slow_misses_nothing_and_holds_up_nobody(live: Live) -> None:
    async def run() -> None:
        await live.add("a")
        slow, quick = live.watch(0), live.watch(0)
        assert await _names(slow, 1) == "a"
        assert await _names(quick, 1) == "a"
        for name in "bcdefghijk":
            await live.add(name)
            assert await _names(quick, 1) == name
        assert await _names(slow, 10) == "bcdefghijk"
        assert await _names(live.watch(3), 8) == "defghijk"
        assert live.broadcast._behind == 0

    asyncio.run(run())
    live.clusters.close()


@pytest.mark.usefixtures("narrow")
def test_who_is_too_far_behind_is_told_to_list_again(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.watching.MOST_BEHIND", 0)

    async def run() -> None:
        await live.add(*"abcdefgh")
        chunk = await asyncio.wait_for(anext(live.watch(1)), 30)
        line = json.loads(chunk)
        assert (line["type"], line["object"]["code"], line["object"]["message"]) == (
            "ERROR",
            410,
            "too old resource version: 1 (6)",
        )

    asyncio.run(run())
    live.clusters.close()


def _kept_in(store: Store, log: EventLog, book: Book) -> Cluster:
    """The history of `book` as a cluster of `store`."""
    firsts = [*book.batches, len(book.events) + 1]
    for first, after in pairwise(firsts):
        batch = book.events[first - 1 : after - 1]
        log.append(
            [draft(event.payload, actor="test") for event in batch], at=batch[0].at, expected=first - 1
        )
    return Cluster.open(store, log.stream, clock=VirtualClock(book.now))


async def _all(lines: AsyncIterator[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) async for chunk in lines for line in chunk.splitlines()]


def _objects(cluster: Cluster, selection: Selection, state: State) -> dict[str, Any]:
    return {_key(shown): shown for shown in list_objects(cluster, selection, state=state).items}


def _key(shown: dict[str, Any]) -> str:
    metadata = shown["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if "namespace" in metadata else metadata["name"]


def _by_events(state: State, shown: dict[str, Any]) -> dict[str, Any]:
    """An object without what changes by itself: what a budget counts, and what Pods of an incomplete tree
    say after some time."""
    status = shown.get("status", {})
    if shown["kind"] == "PodDisruptionBudget":
        return {**shown, "status": None}
    if shown["kind"] == "Pod":
        pod = state.pods[_key(shown)]
        if as_of(state, pod, LATE) is not pod:
            return {**shown, "status": {**status, "conditions": None}}
    return shown


LATE = 10**18
SELECTIONS = [
    *(Selection(kind) for kind in KINDS),
    Selection(POD, namespace="default"),
    Selection(POD, labels=parse_labels("app=x")),
    Selection(POD, fields=parse_fields("spec.nodeName=", "Pod")),
    Selection(POD, fields=parse_fields("status.phase=Running", "Pod")),
    Selection(NODE.kind, fields=parse_fields("spec.unschedulable=true", "Node")),
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(book=books(min_size=5), data=st.data())
def test_a_list_and_then_a_watch_end_where_a_later_list_does(
    new_log: Callable[[], EventLog], monkeypatch: pytest.MonkeyPatch, book: Book, data: st.DataObject
) -> None:
    monkeypatch.setattr("api.watching.BOOKMARK_S", 0.0)
    log = new_log()
    cluster = _kept_in(log.store, log, book)
    broadcast = Broadcast(cluster, Tail(log.store, log.stream))
    begin, end = data.draw(st.integers(0, len(book.events))), len(book.events)
    before, now = cluster.state_at(begin), cluster.state_at(end)
    for selection in data.draw(st.lists(st.sampled_from(SELECTIONS), min_size=1, max_size=3)):
        resource = Resource(selection.kind, selection.kind.version)
        asked = Watch(resource=resource, selection=selection, bookmarks=True, timeout_s=0.0)
        seen, position = _objects(cluster, selection, before), begin
        while position < end:
            for line in asyncio.run(_all(watch(broadcast, asked, position))):
                position = _take(seen, line)
        assert {key: _by_events(now, each) for key, each in seen.items()} == {
            key: _by_events(now, each) for key, each in _objects(cluster, selection, now).items()
        }


def _take(seen: dict[str, Any], line: dict[str, Any]) -> int:
    """What a client does with a line; the position of which it then knows."""
    shown = line["object"]
    match line["type"]:
        case "ADDED":
            assert _key(shown) not in seen
            seen[_key(shown)] = shown
        case "MODIFIED":
            assert int(seen[_key(shown)]["metadata"]["resourceVersion"]) < int(
                shown["metadata"]["resourceVersion"]
            )
            seen[_key(shown)] = shown
        case "DELETED":
            gone = seen.pop(_key(shown))
            assert gone["metadata"]["uid"] == shown["metadata"]["uid"]
        case other:
            assert other == "BOOKMARK"
    return _version(shown)


def _version(shown: dict[str, Any]) -> int:
    return int(shown["metadata"]["resourceVersion"])
