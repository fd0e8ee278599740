"""What Kubernetes shows of typical situations: Events, describe, conditions."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from build import group, node, pod
from cli_world import Book, Ganger, Golden
from domain import events as ev
from domain.admission.kinds import POD
from strategies import priority_class

HIGH = priority_class("high", 100)


def _scheduled(book: Book) -> None:
    book.apply(node("n1"), group("g", 2), *(pod(f"g-{index}", cpu="1", group="g") for index in range(2)))


def _rejected(book: Book) -> None:
    """One member fits, one does not, one is not tried."""
    members = (pod(f"g-{index}", cpu=cpu, group="g") for index, cpu in enumerate(["1", "9", "1"]))
    book.apply(node("n1", cpu="4"), group("g", 3), *members)


def _rejected_often(book: Book) -> None:
    book.cluster.append([ev.SchedulerConfigured(retry="byClock")], actor="test")
    book.apply(node("n1", cpu="1"), group("g", 1), pod("g-0", cpu="2", group="g")).wait(600)


def _skipped(book: Book) -> None:
    held = pod("g-0", group="g")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    book.apply(group("g"), held, pod("g-1", group="g"))
    book.cluster.delete([(POD, "default/g-0")])
    book.apply(node("n1"))


def _busy(book: Book) -> Book:
    """Two nodes, each with a Pod that takes most of it."""
    running = (
        pod(f"low-{index}", cpu="3", node=f"n{index}", terminationGracePeriodSeconds=30) for index in (1, 2)
    )
    return book.apply(HIGH, node("n1", cpu="4"), node("n2", cpu="4"), *running).wait(5)


def _preempted_by_a_group(book: Book) -> None:
    members = (pod(f"g-{index}", cpu="4", group="g", priorityClassName="high") for index in range(2))
    _busy(book).apply(group("g", 2, priorityClassName="high"), *members)


def _preempted_by_a_pod(book: Book) -> None:
    _busy(book).apply(pod("urgent", cpu="4", priorityClassName="high"))


def _disagreeing(book: Book) -> None:
    book.apply(HIGH, node("n1"), group("g", 1, priorityClassName="high"), pod("g-0", group="g"))


def _gated(book: Book) -> None:
    book.apply(
        node("n1"), group("g", 2), pod("g-0", group="g"), pod("g-1", group="g", gates=["example.com/x"])
    )


def _bound(book: Book) -> None:
    book.apply(node("n1"), pod("a"))


SITUATIONS = [
    pytest.param(_scheduled, ["pod/g-0", "podgroup/g"], id="scheduled"),
    pytest.param(_rejected, ["pod/g-0", "pod/g-1", "pod/g-2", "podgroup/g"], id="rejected"),
    pytest.param(_rejected_often, ["pod/g-0", "podgroup/g"], id="rejected-often"),
    pytest.param(_skipped, ["pod/g-0", "pod/g-1", "podgroup/g"], id="skipped"),
    pytest.param(
        _preempted_by_a_group,
        ["pod/low-1", "pod/low-2", "pod/g-0", "pod/g-1", "podgroup/g"],
        id="preempted-by-a-group",
    ),
    pytest.param(_preempted_by_a_pod, ["pod/low-1", "pod/low-2", "pod/urgent"], id="preempted-by-a-pod"),
    pytest.param(_disagreeing, ["pod/g-0", "podgroup/g"], id="scheduler-error"),
    pytest.param(_gated, ["pod/g-0", "pod/g-1", "podgroup/g"], id="gated"),
]


@pytest.fixture
def situation(folder: Path) -> Iterator[Callable[[Callable[[Book], None]], Book]]:
    """A cluster in `folder` that something has been done to, and what follows at once."""
    book = Book(folder)

    def make(what: Callable[[Book], None]) -> Book:
        what(book)
        return book.wait(0)

    yield make
    book.store.close()


@pytest.mark.parametrize(("what", "objects"), SITUATIONS)
def test_what_kubernetes_shows(
    ganger: Ganger,
    golden: Golden,
    situation: Callable[[Callable[[Book], None]], Book],
    what: Callable[[Book], None],
    objects: Sequence[str],
    request: pytest.FixtureRequest,
) -> None:
    at = _when_decided(situation(what))
    events = ganger("get", "events", "--at", at)
    told = [f"$ ganger get events\n{events.out}{events.err}"]
    for each in objects:
        manifest = yaml.safe_load(ganger.out("get", each, "-o", "yaml", "--at", at))
        conditions = manifest.get("status", {}).get("conditions", [])
        told.append(f"$ ganger get {each} -o yaml  # status.conditions\n{_yaml(conditions)}")
    told += [
        f"$ ganger describe {each}  # Events\n{_events(ganger.out('describe', each, '--at', at))}"
        for each in objects
    ]

    golden(f"shows-{request.node.callspec.id}", "\n".join(told))


def _when_decided(book: Book) -> str:
    """The newest position, but while victims end if there are some."""
    evictions = [event.position for event in book.cluster.log.of_type("PodEvicted")]
    return str(max(evictions, default=book.cluster.state.position))


def _yaml(value: Any) -> str:
    return yaml.safe_dump(value, sort_keys=False, width=1000)


def _events(described: str) -> str:
    """The section of Events of a description."""
    _, section, rest = described.partition("Events:")
    return section + rest.partition("History:")[0]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["-o", "wide"], id="wide"),
        pytest.param(["-o", "yaml"], id="yaml"),
        pytest.param(["-A"], id="all"),
    ],
)
def test_events_in_other_forms(
    ganger: Ganger,
    golden: Golden,
    situation: Callable[[Callable[[Book], None]], Book],
    options: list[str],
    request: pytest.FixtureRequest,
) -> None:
    at = _when_decided(situation(_preempted_by_a_group))

    golden(f"get-events-{request.node.callspec.id}", ganger.out("get", "ev", *options, "--at", at))


def test_one_event_and_events_among_others(
    ganger: Ganger, situation: Callable[[Callable[[Book], None]], Book]
) -> None:
    at = situation(_rejected_often).position
    listed = yaml.safe_load(ganger.out("get", "events", "-o", "yaml", "--at", at))["items"]
    name = listed[0]["metadata"]["name"]
    assert yaml.safe_load(ganger.out("get", "event", name, "-o", "yaml", "--at", at)) == listed[0]
    assert ganger.out("get", "event/" + name, "-o", "name", "--at", at) == f"event/{name}\n"
    assert ganger.error("get", "event", "nobody.1").startswith('error: events "nobody.1" not found')
    table = ganger.out("get", "pods,events", "--at", at)
    assert "pod/g-0" in table
    assert "LAST SEEN" in table


@pytest.mark.parametrize("command", ["delete", "describe", "history", "why"])
def test_events_are_only_read(ganger: Ganger, book: Book, command: str) -> None:
    assert 'doesn\'t have a resource type "event"' in ganger.error(command, "event", "a.1")


def test_a_description_is_of_the_pod_that_there_is(
    ganger: Ganger, situation: Callable[[Callable[[Book], None]], Book]
) -> None:
    book = situation(_bound)
    book.cluster.delete([(POD, "default/a")], grace=0)
    book.apply(pod("a", gates=["example.com/x"]))
    assert "Events:  <none>" in ganger.out("describe", "pod", "a", "--at", book.position)
    assert "Scheduled" in ganger.out("get", "events", "--at", book.position)


def test_what_can_be_got_is_told_in_full(book: Book, ganger: Ganger) -> None:
    assert ganger.error("get", "evnts").endswith("poddisruptionbudgets, events)")
    assert ganger.error("describe", "evnts", "x").endswith("poddisruptionbudgets)")
