"""State: one log, one State, however it was come by; and what it counts."""

from collections import Counter
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from books import Book
from build import Story, fact, group, node, pod
from domain import events as ev
from domain.errors import CorruptLog
from domain.events import Event
from domain.objects import Standing
from domain.queue import Lane
from domain.reducer import apply, fold
from domain.scheduling.cycle import decide
from domain.state import State, decode_state, encode_state
from domain.times import SECOND
from strategies import books, logs


@given(logs(min_size=8), st.data())
def test_a_snapshot_changes_nothing(log: list[Event], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(log)))
    restored = decode_state(encode_state(fold(State(), log[:cut])))
    assert encode_state(fold(restored, log[cut:])) == encode_state(fold(State(), log))


@given(logs(min_size=8), st.data())
def test_it_does_not_matter_in_which_pieces_a_log_is_read(log: list[Event], data: st.DataObject) -> None:
    state = State()
    rest = log
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        fold(state, rest[:size])
        rest = rest[size:]
    assert encode_state(state) == encode_state(fold(State(), log))


@given(logs(min_size=5, max_size=15))
def test_apply_is_fold_that_leaves_the_old_state_alone(log: list[Event]) -> None:
    states = [State()]
    for event in log:
        before = encode_state(states[-1])
        states.append(apply(states[-1], event))
        assert encode_state(states[-2]) == before
    assert encode_state(states[-1]) == encode_state(fold(State(), log))


@given(books(min_size=8), st.integers(0, 100))
def test_a_restored_state_decides_the_same(book: Book, seconds: int) -> None:
    now = book.now + seconds * SECOND
    restored = decode_state(encode_state(book.state))
    assert decide(restored, now) == decide(book.state, now)


@given(books(min_size=8))
def test_a_restored_state_counts_the_same(book: Book) -> None:
    """A snapshot is counted in bulk, a log Pod by Pod."""
    folded, restored = book.state, decode_state(encode_state(book.state))
    for counted in ("members", "bound_priorities", "group_priorities", "evicted", "nominated", "released"):
        assert getattr(restored, counted) == getattr(folded, counted), counted
    for name in {each.node for each in folded.pods.values() if each.node is not None}:
        assert restored.nodes.pods(name) == folded.nodes.pods(name)
    assert set(restored.nodes.crowd.peers()) == set(folded.nodes.crowd.peers())
    roster = folded.nodes.for_cycle().roster
    for peer in folded.nodes.crowd.peers():
        left, right = (state.nodes.crowd.places(peer, roster) for state in (restored, folded))
        assert dict(zip(*map(list, left), strict=True)) == dict(zip(*map(list, right), strict=True))
    for each in (*folded.groups.values(), *folded.composites.values()):
        assert restored.forest.ready(each) == folded.forest.ready(each)


@given(books(min_size=8))
def test_deciding_changes_nothing(book: Book) -> None:
    before = encode_state(book.state)
    first = decide(book.state, book.now)
    assert encode_state(book.state) == before
    assert decide(book.state, book.now) == first


@given(books(min_size=8))
def test_what_is_counted_is_what_is_there(book: Book) -> None:
    """The running counts against a count from nothing."""
    state = book.state
    by_group: dict[str, list] = {}
    for each in state.pods.values():
        if each.group is not None and state.standing(each) is not Standing.ENDED:
            by_group.setdefault(each.group, []).append(each)
    assert by_group.keys() == state.members.keys()
    for name, pods in by_group.items():
        members = state.members[name]
        pending = [each for each in pods if state.standing(each) is Standing.PENDING]
        assert list(members.pending) == [each.key for each in sorted(pending, key=lambda each: each.arrival)]
        assert set(members.bound) == {each.key for each in pods if state.standing(each) is Standing.BOUND}
        assert set(members.foreign) == {each.key for each in pods if state.standing(each) is Standing.FOREIGN}
        assert set(members.gated) == {each.key for each in pending if each.spec.gates}
        assert members.dying == sum(each.deletion is not None for each in pending)
    running = [each for each in state.pods.values() if state.standing(each) is Standing.BOUND]
    assert state.bound_priorities == Counter(each.spec.priority for each in running)
    assert set(state.released) == {key for key, each in state.groups.items() if each.deletion is not None}
    for name in {each.node for each in running}:
        assert name is not None
        shapes = Counter(each.spec.shape for each in running if each.node == name)
        assert dict(state.nodes.pods(name)) == shapes


@given(books(min_size=8))
def test_an_entity_is_there_for_what_waits_and_for_nothing_else(book: Book) -> None:
    state = book.state
    waiting = {
        state.waits_as(each) for each in state.pods.values() if state.standing(each) is Standing.PENDING
    }
    assert state.queue.entities.keys() == waiting
    for each in state.pods.values():
        lane = state.lane_of(each, book.now)
        assert (lane is None) is (state.standing(each) is not Standing.PENDING)


@given(books(min_size=8), st.randoms(use_true_random=False))
def test_a_copy_goes_its_own_way(book: Book, random: Random) -> None:
    before = encode_state(book.state)
    copy = book.state.copy()
    position = copy.position
    fold(copy, [Event(position + 1, book.now, fact(pod(f"new-{random.random()}", node="n0")))])
    fold(copy, [Event(position + 2, book.now, fact(node("new")))])
    assert encode_state(book.state) == before
    assert encode_state(copy) != before


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(b"", "not a state", id="empty"),
        pytest.param(b"\xc1", "not a state", id="no msgpack"),
        pytest.param(msgspec.msgpack.encode([1, 2]), "not a state", id="too short"),
        pytest.param(encode_state(State())[:-1], "not a state", id="torn"),
        pytest.param(
            b"\x9e\x63" + encode_state(State())[2:], "a state of format 99, not 7", id="another format"
        ),
    ],
)
def test_bytes_that_are_no_state(body: bytes, text: str) -> None:
    with pytest.raises(CorruptLog, match=text):
        decode_state(body)


def test_equal_logs_give_equal_bytes_whatever_came_and_went() -> None:
    """A State says how things are, not how they came to be so: dead Pods leave no trace but positions."""
    story = Story(node("n"), pod("a", group="g"), pod("b"))
    bound_first = story.state.copy()
    for name in ("b", "a"):
        bound = ev.PodBound(pod=f"default/{name}", uid=f"uid-of-{name}", node="n")
        fold(bound_first, [Event(bound_first.position + 1, 0, bound)])
    assert encode_state(decode_state(encode_state(bound_first))) == encode_state(bound_first)


@pytest.mark.parametrize(
    ("made", "standing"),
    [
        pytest.param(pod("a"), Standing.PENDING, id="waits"),
        pytest.param(pod("a", gates=["x/y"]), Standing.PENDING, id="waits for a gate"),
        pytest.param(pod("a", schedulerName="other"), Standing.FOREIGN, id="another scheduler's"),
        pytest.param(pod("a", node="n"), Standing.BOUND, id="runs"),
        pytest.param(pod("a", node="n", schedulerName="other"), Standing.BOUND, id="another's, runs"),
        pytest.param(
            {**pod("a", node="n"), "status": {"phase": "Succeeded"}}, Standing.ENDED, id="succeeded"
        ),
        pytest.param({**pod("a"), "status": {"phase": "Failed"}}, Standing.ENDED, id="failed without a node"),
    ],
)
def test_standing(made: dict, standing: Standing) -> None:
    state = Story(made).state
    assert state.standing(state.pods["default/a"]) is standing
    assert (state.lane_of(state.pods["default/a"], 0) is Lane.ACTIVE) is (
        standing is Standing.PENDING and "schedulingGates" not in made["spec"]
    )


@pytest.mark.parametrize(
    ("members", "created"),
    [
        pytest.param([pod("a", group="g")], 1, id="waits"),
        pytest.param([pod("a", group="g", gates=["x/y"])], 1, id="has a gate"),
        pytest.param([pod("a", group="g", node="n")], 1, id="runs"),
        pytest.param([pod("a", group="g", schedulerName="other")], 0, id="another scheduler's, waits"),
        pytest.param(
            [pod("a", group="g", node="n", schedulerName="other")], 1, id="another scheduler's, runs"
        ),
        pytest.param([{**pod("a", group="g", node="n"), "status": {"phase": "Failed"}}], 0, id="ended"),
        pytest.param(
            [pod("a", group="g"), pod("b", group="g"), pod("c", group="h"), pod("d")], 2, id="of many"
        ),
    ],
)
def test_who_counts_as_created(members: list[dict], created: int) -> None:
    assert Story(group("g", 5), *members).state.members_of("default/g").created == created


def test_a_dying_member_counts_until_it_is_gone() -> None:
    story = Story(group("g", 5), pod("a", group="g"), pod("b", group="g", node="n"))
    for name, on in (("a", None), ("b", "n")):
        marked = ev.PodUpdated(
            key=f"default/{name}", group="default/g", node=on, deletion=ev.Deletion(at=0, grace=9)
        )
        story.append(marked)
    assert story.state.members_of("default/g").created == 2
    assert len(story.state.members_of("default/g").bound) == 1
    story.append(ev.PodDeleted(key="default/b", uid="uid-of-b", group="default/g", node="n"))
    assert story.state.members_of("default/g").created == 1


def test_what_gone_pods_wanted_is_not_encoded() -> None:
    story = Story(pod("a", labels={"only": "theirs"}), pod("b"))
    assert b"theirs" in encode_state(story.state)
    story.append(ev.PodDeleted(key="default/a", uid="uid-of-a"))
    assert b"theirs" not in encode_state(story.state)


def test_what_pods_have_in_common_is_there_once() -> None:
    """Held against a State that was folded, and one that was restored."""
    names = ("a", "b", "c")
    story = Story(node("n"), group("g", 3), *(pod(name, group="g", labels={"app": "x"}) for name in names))
    bound = [ev.PodBound(pod=f"default/{name}", uid=f"uid-of-{name}", node="".join("n")) for name in names]
    story.append(*bound)
    for state in (story.state, decode_state(encode_state(story.state))):
        pods = list(state.pods.values())
        assert {id(each.node) for each in pods} == {id(state.node_records["n"].key)}
        assert {id(each.group) for each in pods} == {id(state.groups["default/g"].key)}
        assert len({id(each.spec) for each in pods}) == 1
        assert len({id(each.condition) for each in pods}) == 1
        assert all(each.arrival is each.manifest for each in pods)
