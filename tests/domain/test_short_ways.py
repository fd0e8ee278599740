"""The fold's short ways for what happens most often lead where the long ones do."""

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from books import Book
from build import Story, node, pod
from domain import reducer
from domain.events import PodBound, PodGroupDeleted, PodUpdated
from domain.objects import Pod
from domain.reducer import fold
from domain.state import State, encode_state
from domain.times import SECOND
from ganger_testing.strategies import books


@contextmanager
def long_ways() -> Iterator[None]:
    """Every change of a Pod is undoing how it was counted, changing it, and counting it anew."""

    def bind(state: State, pod: Pod, node: str) -> None:
        state.delist(pod)
        pod.node, pod.nominated = node, None
        state.enlist(pod)

    with (
        patch.object(State, "bind", bind),
        patch.object(State, "_stays_alone", lambda *_: False),
        patch.object(reducer, "_is_report", lambda *_: False),
    ):
        yield


def known(state: State, now: int) -> tuple[object, ...]:
    """All that others can learn of `state`."""
    queue = state.queue
    every = (*state.groups.values(), *state.composites.values())
    nodes = sorted({pod.node for pod in state.pods.values() if pod.node is not None})
    return (
        encode_state(state),
        {key: (members.pending, members.gated, members.dying) for key, members in state.members.items()},
        {key: (members.bound, members.foreign) for key, members in state.members.items()},
        {name: state.waiting_as(name) for name, entity in queue.entities.items() if not entity.is_pod},
        (state.bound_priorities, state.group_priorities, state.nominated, state.evicted, state.released),
        [(state.forest.ready(group), state.forest.ready_below(group.key)) for group in every],
        [state.nodes.pods(node) for node in nodes],
        set(state.nodes.crowd.peers()),
        set(queue.wishes()),
        whose_turn(state, now),
    )


def whose_turn(state: State, now: int) -> tuple[object, ...]:
    queue = state.queue
    moments = (now, now + SECOND, now + 400 * SECOND)
    lanes = [[(lane, entity.name) for lane, entity in queue.in_order(moment)] for moment in moments]
    return queue.first_due(now), queue.next_due(), queue.next_to_speak(now), lanes


def others_act(book: Book, random: Random) -> None:
    """Somebody else binds Pods, whoever they belong to, and takes groups away, whoever needs them."""
    without = [pod for pod in book.state.pods.values() if pod.node is None]
    nodes = sorted(book.state.node_records)
    for each in random.sample(without, random.randint(0, len(without)) if nodes else 0):
        book.append(PodBound(pod=each.key, uid=each.uid, group=each.group, node=random.choice(nodes)))
    for group in list(book.state.groups.values()):
        if random.random() < 0.2:
            book.append(PodGroupDeleted(key=group.key, uid=group.uid))


@given(books(min_size=10), st.randoms(use_true_random=False))
def test_every_short_way(book: Book, random: Random) -> None:
    others_act(book, random)
    book.settle()
    short, long = State(), State()
    for event in book.events:
        fold(short, [event])
        with long_ways():
            fold(long, [event])
        assert known(short, event.at) == known(long, event.at), event


@given(books(min_size=10), st.randoms(use_true_random=False))
def test_whose_turn_it_is_does_not_depend_on_who_has_asked(book: Book, random: Random) -> None:
    others_act(book, random)
    book.settle()
    asked = State()
    for event in book.events:
        whose_turn(fold(asked, [event]), event.at)
        if random.random() < 0.1:
            unasked = fold(State(), book.events[: event.position])
            assert whose_turn(unasked, event.at) == whose_turn(asked, event.at), event


def test_a_pod_that_ends_hopes_for_nothing() -> None:
    hopeful = {**pod("a", node="n"), "status": {"nominatedNodeName": "n"}}
    story = Story(node("n"), hopeful)
    assert story.state.pods["default/a"].nominated == "n"
    story.append(PodUpdated(key="default/a", status=Raw(b'{"phase":"Succeeded"}')))
    assert story.state.pods["default/a"].nominated is None
