"""Which events a decision survives that came between its snapshot and its commit."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from books import Book, lost_wake_ups
from build import Story, fact, group, node, pod
from domain import events as ev
from domain.conflict import stands
from domain.events import Event
from domain.objects import POD_GROUP
from domain.reducer import fold
from domain.scheduling.cycle import Decision, decide
from domain.state import State, encode_state
from strategies import Action, actions, books, perform

CHOSEN, OTHER = "n1", "n2"


def story() -> Story:
    """A gang that goes to n1 with a member that runs on n2, and a Pod that waits behind it."""
    return Story(
        node(CHOSEN, cpu="8"),
        node(OTHER, cpu="1"),
        pod("runs", cpu="100m", node=CHOSEN),
        pod("far", cpu="100m", node=OTHER),
        group("g", 3),
        pod("g-0", cpu="1", group="g"),
        pod("g-1", cpu="1", group="g"),
        pod("g-runs", cpu="500m", group="g", node=OTHER),
        group("other", 1),
        pod("other-0", cpu="1", group="other"),
        pod("alone", cpu="1"),
    )


def gone(name: str, **fields: str) -> ev.Payload:
    return ev.PodDeleted(key=f"default/{name}", uid=f"uid-of-{name}", **fields)


def status(name: str, phase: str, **fields: str) -> ev.Payload:
    return ev.PodUpdated(key=f"default/{name}", status=Raw(f'{{"phase":"{phase}"}}'.encode()), **fields)


def dying(name: str, **fields: str) -> ev.Payload:
    return ev.PodUpdated(key=f"default/{name}", deletion=ev.Deletion(at=0, grace=30), **fields)


def attempted(entity: str) -> ev.Payload:
    return ev.GroupAttempted(at=0, entity=entity, number=1, outcome="error", scheduler="", snapshot=0)


MINE = {"group": "default/g"}
EVENTS = {
    "a Pod waits": (lambda: fact(pod("new", cpu="1")), True),
    "a new member waits": (lambda: fact(pod("g-9", group="g")), True),
    "a Pod comes bound to a chosen node": (lambda: fact(pod("new", node=CHOSEN)), False),
    "a Pod comes bound elsewhere": (lambda: fact(pod("new", node=OTHER)), True),
    "a member comes bound elsewhere": (lambda: fact(pod("g-9", group="g", node=OTHER)), False),
    "a member of the decision changes": (lambda: fact(pod("g-0", cpu="1", group="g"), "Updated"), False),
    "a member of the decision is to go": (lambda: dying("g-0", **MINE), False),
    "a member of the decision goes": (lambda: gone("g-0", **MINE), False),
    "a running member changes": (
        lambda: fact(pod("g-runs", cpu="500m", group="g", node=OTHER), "Updated"),
        False,
    ),
    "a running member ends": (lambda: status("g-runs", "Failed", node=OTHER, **MINE), False),
    "a running member goes": (lambda: gone("g-runs", node=OTHER, **MINE), False),
    "a running member is refused by its node": (
        lambda: ev.BindingFailed(
            pod="default/g-runs", uid="uid-of-g-runs", node=OTHER, message="", group="default/g"
        ),
        False,
    ),
    "another Pod changes on a chosen node": (
        lambda: fact(pod("runs", cpu="100m", node=CHOSEN), "Updated"),
        False,
    ),
    "another Pod runs on a chosen node": (lambda: status("runs", "Running", node=CHOSEN), True),
    "another Pod is to go from a chosen node": (lambda: dying("runs", node=CHOSEN), True),
    "another Pod goes from a chosen node": (lambda: gone("runs", node=CHOSEN), True),
    "another Pod changes elsewhere": (lambda: fact(pod("far", cpu="100m", node=OTHER), "Updated"), True),
    "another Pod is bound to a chosen node": (
        lambda: ev.PodBound(pod="default/alone", uid="uid-of-alone", node=CHOSEN),
        False,
    ),
    "another Pod is bound elsewhere": (
        lambda: ev.PodBound(pod="default/alone", uid="uid-of-alone", node=OTHER),
        True,
    ),
    "another Pod is nominated": (
        lambda: ev.PodNominated(pod="default/alone", uid="uid-of-alone", node=CHOSEN),
        True,
    ),
    "a chosen node changes": (lambda: fact(node(CHOSEN, cpu="9"), "Updated"), False),
    "a chosen node goes": (lambda: ev.NodeDeleted(key=CHOSEN, uid="uid-of-n1"), False),
    "another node changes": (lambda: fact(node(OTHER, cpu="2"), "Updated"), True),
    "another node comes": (lambda: fact(node("n3")), True),
    "its minCount changes": (lambda: fact(group("g", 2), "Updated"), False),
    "its group goes": (lambda: ev.PodGroupDeleted(key="default/g", uid="uid-of-g"), False),
    "another group changes": (lambda: fact(group("other", 2), "Updated"), True),
    "another group comes": (lambda: fact(group("third", 2)), True),
    "the scheduler is configured": (ev.SchedulerConfigured, False),
    "another worker tried the same": (lambda: attempted("PodGroup/default/g"), False),
    "another worker tried another": (lambda: attempted("PodGroup/default/other"), True),
    "a PriorityClass comes": (
        lambda: fact({"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 5}),
        True,
    ),
}


@pytest.mark.parametrize(("event", "expected"), EVENTS.values(), ids=EVENTS)
def test_a_gang_survives(event: Callable[[], ev.Payload], expected: bool) -> None:
    state = story().state
    decision = decide(state, 0)
    assert decision is not None
    assert decision.nodes == {CHOSEN}
    assert decision.pods == {"default/g-0", "default/g-1"}
    assert stands(decision, Event(99, 0, event()), state) is expected


ALONE = {
    "a Pod waits": (lambda: fact(pod("new")), True),
    "a Pod comes bound elsewhere": (lambda: fact(pod("new", node=OTHER)), True),
    "a Pod comes bound to its node": (lambda: fact(pod("new", node=CHOSEN)), False),
    "another Pod goes": (lambda: gone("far", node=OTHER), True),
    "another Pod changes elsewhere": (lambda: fact(pod("far", cpu="100m", node=OTHER), "Updated"), True),
    "it goes": (lambda: gone("alone"), False),
    "it changes": (lambda: fact(pod("alone", cpu="1"), "Updated"), False),
    "a group comes": (lambda: fact(group("third", 1)), True),
}


@pytest.mark.parametrize(("event", "expected"), ALONE.values(), ids=ALONE)
def test_a_single_pod_survives(event: Callable[[], ev.Payload], expected: bool) -> None:
    state = Story(
        node(CHOSEN, cpu="8"), node(OTHER, cpu="1"), pod("far", cpu="100m", node=OTHER), pod("alone", cpu="1")
    ).state
    decision = decide(state, 0)
    assert decision is not None
    assert (decision.pods, decision.nodes, decision.groups) == ({"default/alone"}, {CHOSEN}, frozenset())
    assert stands(decision, Event(99, 0, event()), state) is expected


def test_a_refusal_chose_no_node_and_survives_whatever_happens_to_nodes() -> None:
    state = Story(node(CHOSEN, cpu="1"), pod("alone", cpu="2")).state
    decision = decide(state, 0)
    assert decision is not None
    for event in (fact(node(CHOSEN, cpu="4"), "Updated"), fact(node(OTHER)), fact(pod("new", node=CHOSEN))):
        assert stands(decision, Event(99, 0, event), state)


def assert_sound(state: State, decision: Decision) -> None:
    """What a decision that was folded has to leave behind."""
    bindings = [payload for payload in decision.payloads if isinstance(payload, ev.PodBound)]
    for bound in bindings:
        has, used = state.nodes.facts(bound.node).allocatable, state.nodes.used(bound.node)
        shape = state.pods[bound.pod].spec.shape
        for resource, _ in (*shape.requests, ("pods", 1)):
            assert used[resource] <= int(has.get(resource, 0)), (bound, resource)
    started = [each for each in decision.attempt.groups if bindings and each.status == "Success"]
    for found in started:
        gang = state.group_of(found.group)
        assert gang is not None
        below = sum(each.parent == found.group for each in started)
        running = len(state.members_of(gang.key).bound) if gang.kind == POD_GROUP else below
        assert running >= gang.min_count


EXTRA = [
    group("extra", 2),
    pod("extra-0", cpu="500m", group="extra"),
    pod("extra-1", cpu="500m", group="extra"),
]


@given(books(min_size=10), st.lists(actions(), min_size=1, max_size=3))
def test_a_decision_that_survives_is_sound_where_it_lands(book: Book, meanwhile: list[Action]) -> None:
    """Whoever wrote in between: the gang is whole, its nodes have room, and nobody is left asleep."""
    book.apply(EXTRA)
    decision = decide(book.state, book.now)
    assert decision is not None
    before = book.state.copy()
    for action in meanwhile:
        perform(action, book)
    if not all(stands(decision, event, before) for event in book.events[before.position :]):
        decision = decide(book.state, book.now)
        if decision is None:
            return
    book.append(*decision.payloads)
    assert_sound(book.state, decision)
    assert lost_wake_ups(book.state, book.now) == []
    assert encode_state(fold(State(), book.events)) == encode_state(book.state)
