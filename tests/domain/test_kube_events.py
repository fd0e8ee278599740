"""Kubernetes Events that follow from the log. Source: events of a kube-scheduler 1.37.2, as recorded."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from books import Book, times_told
from build import START, Manifest, group, node, pod
from domain import events as ev
from domain.kube_events import (
    FAILED,
    HOUR,
    PREEMPTED,
    SCHEDULED,
    KubeEvent,
    Occurrence,
    OnePod,
    Preemptor,
    Recorder,
    Regarding,
    WholeCluster,
    cut,
    occurrences,
)
from domain.reducer import fold
from domain.state import State
from domain.times import SECOND
from strategies import books, priority_class

NO_ROOM = "0/1 nodes are available: 1 Insufficient cpu."
TOO_FEW = "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining"
NO_VICTIMS = "pod group preemption: No preemption victims found for incoming preemptor"


class Telling:
    """What the log of a book tells, for the whole cluster and for each Pod from its own events."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._preemptors: dict[int, Preemptor] = {}

    def of_all(self) -> list[KubeEvent]:
        state, recorder = State(), Recorder()
        world = WholeCluster(state, self._attempt)
        for event in self._book.events:
            if isinstance(event.payload, ev.PodEvicted):
                self._preemptors[event.position] = world.preemptor(event.payload, event.position)
            for occurrence in occurrences(event, world):
                recorder.record(occurrence)
            fold(state, (event,))
        return recorder.events

    def of_one(self, key: str) -> list[KubeEvent]:
        recorder, one = Recorder(), OnePod(key, self._attempt, lambda _, at: self._preemptors[at])
        for event in self._about(key):
            for occurrence in occurrences(event, one):
                recorder.record(occurrence)
            one.move_on(event)
        return recorder.events

    def _about(self, key: str) -> Iterator[ev.Event]:
        for event in self._book.events:
            subject = f"Pod/{key}"
            if isinstance(event.payload, ev.GroupAttempted) or subject in ev.subjects(event.payload):
                yield event

    def _attempt(self, position: int) -> ev.GroupAttempted:
        payload = self._book.events[position - 1].payload
        assert isinstance(payload, ev.GroupAttempted)
        return payload


def told(book: Book) -> list[tuple[str, str, str]]:
    """Pod, reason and note of each Event, by Pod."""
    found = [(each.first.regarding.key.partition("/")[2], each.first) for each in Telling(book).of_all()]
    return sorted((name, first.what.reason, first.note) for name, first in found)


def leaving(manifest: Manifest) -> Manifest:
    """`manifest` with a finalizer, so that it stays when it is deleted."""
    return manifest | {"metadata": manifest["metadata"] | {"finalizers": ["example.com/hold"]}}


def test_a_gang_that_is_placed() -> None:
    book = Book(node("n1"), group("g", 2), pod("g-0", group="g"), pod("g-1", group="g")).settle()
    assert told(book) == [
        ("g-0", "Scheduled", "Successfully assigned default/g-0 to n1"),
        ("g-1", "Scheduled", "Successfully assigned default/g-1 to n1"),
    ]


def test_a_refused_gang_tells_each_member_its_own_part() -> None:
    members = (pod(f"g-{index}", cpu=cpu, group="g") for index, cpu in enumerate(["1", "9", "1"]))
    book = Book(node("n1", cpu="4"), group("g", 3), *members).decide()
    assert told(book) == [
        ("g-0", "FailedScheduling", f"pod group is unschedulable, {TOO_FEW}, {NO_VICTIMS}"),
        ("g-1", "FailedScheduling", NO_ROOM),
        ("g-2", "FailedScheduling", TOO_FEW),
    ]


def test_a_member_that_is_being_deleted_is_skipped() -> None:
    book = Book(group("g"), leaving(pod("g-0", group="g")), pod("g-1", group="g"))
    book.delete("pod", "default/g-0")
    book.apply([node("n1")])
    book.decide()
    assert told(book) == [
        ("g-0", "FailedScheduling", "skip schedule deleting pod: default/g-0"),
        ("g-1", "Scheduled", "Successfully assigned default/g-1 to n1"),
    ]
    assert book.state.pods["default/g-0"].condition is None


def test_a_gated_pod_has_no_event() -> None:
    assert told(Book(node("n1"), pod("a", gates=["x/y"]), group("g", 2), pod("b", group="g")).settle()) == []


def test_a_group_that_disagrees_with_itself() -> None:
    book = Book(
        node("n1"), priority_class("high", 100), group("g", 1, priorityClassName="high"), pod("a", group="g")
    ).decide()
    (event,) = Telling(book).of_all()
    assert event.first.what == FAILED
    assert event.first.note == book.state.pods["default/a"].condition.message  # type: ignore[union-attr]
    assert event.first.note.endswith("the pod group's priority, got 0 and 100")


def _full(*preemptor: Manifest) -> Book:
    high = priority_class("high", 100)
    return Book(high, node("n1", cpu="2"), pod("low", cpu="2", node="n1"), *preemptor)


def test_a_group_that_preempts() -> None:
    book = _full(
        group("g", 1, priorityClassName="high"), pod("g-0", cpu="2", group="g", priorityClassName="high")
    )
    book.decide()
    uid = book.state.groups["default/g"].uid
    failed, preempted = Telling(book).of_all()
    assert (failed.first.what, failed.first.note) == (FAILED, NO_ROOM)
    assert preempted.first.what == PREEMPTED
    assert preempted.first.note == f"Preempted by podgroup {uid} on node cluster"
    assert preempted.first.related == Preemptor("PodGroup/default/g", uid, None, failed.first.position)


def test_a_pod_that_preempts() -> None:
    book = _full(pod("a", cpu="2", priorityClassName="high")).decide()
    uid = book.state.pods["default/a"].uid
    failed, preempted = Telling(book).of_all()
    assert failed.first.note == (
        f"{NO_ROOM} preemption: found a potential placement for pod on node n1, preempting 1 victims"
    )
    assert (preempted.first.note, preempted.first.related) == (f"Preempted by pod {uid} on node n1", None)


def test_repeats_are_counted_while_the_pod_is_unchanged() -> None:
    """As recorded: the first attempt writes the condition, so the second one sees another Pod."""
    book = Book(node("n1", cpu="1"))
    book.append(ev.SchedulerConfigured(retry="byClock"))
    book.apply([group("g", 1), pod("a", cpu="2", group="g")])
    for _ in range(4):
        book.decide().wait(60)
    first, again = Telling(book).of_all()
    assert (first.count, again.count) == (1, 3)
    assert first.first.note == again.first.note
    assert first.first.regarding.revision < again.first.regarding.revision == first.first.position
    assert (again.first.at, again.last_at) == (START + 60 * SECOND, START + 180 * SECOND)
    assert again.last == book.state.position


def test_another_text_is_another_event() -> None:
    book = Book(node("n1", cpu="1"), pod("a", cpu="2")).decide()
    book.apply([node("n2", cpu="2"), pod("b", cpu="2", node="n2")])
    book.wait(60).decide()
    assert [each.first.note[:20] for each in Telling(book).of_all()] == [
        "0/1 nodes are availa",
        "0/2 nodes are availa",
    ]


def test_a_binding_that_fails() -> None:
    book = Book(node("n1"), pod("a")).decide()
    uid = book.state.pods["default/a"].uid
    book.append(ev.BindingFailed(pod="default/a", uid=uid, node="n1", message="no route to the node"))
    scheduled, failed = Telling(book).of_all()
    assert scheduled.first.what == SCHEDULED
    assert (failed.first.what, failed.first.note) == (FAILED, "no route to the node")


def _occurrence(at: int) -> Occurrence:
    return Occurrence(at, at, Regarding("default/a", "u", "s", 1), FAILED, "no")


@given(st.lists(st.integers(0, 3 * HOUR), max_size=30).map(sorted), st.data())
def test_where_one_begins_to_read_does_not_matter(times: list[int], data: st.DataObject) -> None:
    begin = HOUR * data.draw(st.integers(0, 3))
    whole, part = Recorder(), Recorder()
    for at in times:
        whole.record(_occurrence(at))
        if at >= begin:
            part.record(_occurrence(at))
    assert [event for event in whole.events if event.first.at >= begin] == part.events


def test_the_name_of_an_event() -> None:
    recorder = Recorder()
    recorder.record(_occurrence(811))
    (event,) = recorder.events
    assert (event.namespace, event.name) == ("default", "a.000000000000032b")


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        pytest.param("a" * 1024, "a" * 1024, id="as long as may be"),
        pytest.param("a" * 1025, "a" * 1020 + " ...", id="longer"),
        pytest.param("ä" * 513, "ä" * 510 + " ...", id="counted in bytes"),
        pytest.param("a" + "ä" * 512, "a" + "ä" * 509 + " ...", id="no half characters"),
    ],
)
def test_a_long_note_is_cut(note: str, expected: str) -> None:
    assert cut(note) == expected
    assert len(cut(note).encode()) <= 1024


@given(books(min_size=5))
def test_a_pods_own_events_tell_what_the_whole_log_tells(book: Book) -> None:
    telling = Telling(book)
    whole = telling.of_all()
    keys = {each.payload.key for each in book.events if isinstance(each.payload, ev.PodAdded)}
    for key in sorted(keys):
        of_it = [each for each in whole if each.first.regarding.key == key]
        assert times_told(telling.of_one(key)) == times_told(of_it)


@given(books(min_size=5))
def test_whoever_was_refused_has_an_event_that_says_so(book: Book) -> None:
    notes = {(each.first.regarding.uid, each.first.note) for each in Telling(book).of_all()}
    for each in book.state.pods.values():
        condition = each.condition
        if condition is not None and condition.reason in ("Unschedulable", "SchedulerError"):
            assert (each.uid, cut(condition.message)) in notes
