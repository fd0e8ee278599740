"""Runs of decisions: several in one transaction, and yet the same log as one by one."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from books import lost_wake_ups
from build import START, Manifest, group, node, pod
from domain.admission.kinds import kind_named
from domain.envelope import decode_line
from domain.errors import PositionConflict
from domain.events import Event, GroupAttempted
from domain.reducer import fold
from domain.scheduling.cycle import Decision, decide
from domain.state import State, encode_state
from domain.times import SECOND
from domain.upcast import CURRENT
from store.append import Batch
from store.engine import Store
from store.errors import StaleEpoch, StoreUnavailable
from store.leases import acquire
from store.log import Outcome
from store.verify import verify
from strategies import CLASSES, Action, actions, perform, priority_class
from worker import loop
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.loop import Limits, Worker
from worker.replaying import StoredLog, replay

_streams = count(1)


class Asking:
    """What actions ask for."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def apply(self, manifests: list[Manifest]) -> None:
        self.cluster.apply(manifests)

    def delete(self, kind: str, key: str, *, grace: int | None = None) -> None:
        self.cluster.delete([(kind_named(kind), key)], grace=grace)

    def stored(self, kind: str, key: str) -> object:
        return self.cluster.new_batch().get(kind, key)


class Scene(Asking):
    """A cluster in a stream of its own, and how many batches each of its transactions had."""

    def __init__(self, store: Store, *manifests: Manifest) -> None:
        self.store = store
        self.stream = f"run-{next(_streams)}"
        self.clock = VirtualClock(START)
        self.uids = count(1)
        super().__init__(self.open())
        if manifests:
            self.cluster.apply(manifests)
        self.together: list[int] = []
        append_all = self.cluster.log.append_all

        def counted(batches: Sequence[Batch], *, expected: int | None = None) -> list[Outcome]:
            self.together.append(len(batches))
            return append_all(batches, expected=expected)

        self.cluster.log.append_all = counted  # type: ignore[method-assign]

    def open(self) -> Cluster:
        """What another process sees."""
        uid = lambda: f"00000000-0000-4000-8000-{next(self.uids):012x}"  # noqa: E731
        return Cluster.open(self.store, self.stream, clock=self.clock, new_uid=uid)

    def lines(self) -> list[bytes]:
        return [stored.line for stored in self.cluster.log.read()]

    def types(self) -> list[str]:
        return [stored.type for stored in self.cluster.log.read()]

    def assert_sound(self) -> None:
        """The log folds to the State, its chain holds, and every decision comes out again."""
        events = [CURRENT.event(each.type, each.line) for each in self.cluster.log.read()]
        assert encode_state(fold(State(), events)) == encode_state(self.cluster.state)
        verify(self.cluster.log)
        assert replay(StoredLog(self.cluster.log)).same
        assert lost_wake_ups(self.cluster.state, self.clock.now()) == []


@pytest.fixture
def scene(store: Store) -> Callable[..., Scene]:
    """Makes scenes on either store."""
    return lambda *manifests: Scene(store, *manifests)


def gang(name: str, size: int = 2) -> list[Manifest]:
    return [group(name, size), *[pod(f"{name}-{n}", cpu="1", group=name) for n in range(size)]]


GANGS = [each for name in "abcd" for each in gang(name)]


def test_a_run_is_one_transaction_of_whole_batches(scene: Callable[..., Scene]) -> None:
    at = scene(node("n", cpu="8"), *GANGS)
    worker = Worker(at.cluster)
    assert worker.step()
    assert at.together == [4]
    assert not worker.behind
    assert at.types()[13:] == ["GroupAttempted", "PodBound", "PodBound"] * 4
    places = [(line.batch, line.index) for line in map(decode_line, at.lines()[13:])]
    assert places == [(first, index) for first in (14, 17, 20, 23) for index in range(3)]
    assert worker.step()
    assert at.together == [4, 1]
    assert at.types()[25:] == ["PodUpdated"] * 8  # nodes act once, after the run
    assert not worker.step()
    at.assert_sound()


def test_a_lone_decision_is_no_run(scene: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch) -> None:
    at = scene(node("n", cpu="8"), *gang("a"))
    monkeypatch.delattr(Cluster, "commit_run")
    Worker(at.cluster).settle(at.clock)
    assert at.together == [1, 1]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        pytest.param(Limits(), 4, id="none that counts here"),
        pytest.param(Limits(decisions=3), 3, id="decisions"),
        pytest.param(Limits(decisions=1), 1, id="one decision"),
        pytest.param(Limits(events=4), 2, id="events"),
        pytest.param(Limits(seconds=0), 1, id="time"),
    ],
)
def test_a_run_has_a_bound(limits: Limits, expected: int, scene: Callable[..., Scene]) -> None:
    at = scene(node("n", cpu="8"), *GANGS)
    Worker(at.cluster, limits=limits).step()
    assert at.together == [expected]


def test_nodes_act_on_an_eviction_before_the_next_is_tried(scene: Callable[..., Scene]) -> None:
    at = scene(
        priority_class("high", 100),
        node("n", cpu="1"),
        pod("low", cpu="1", node="n"),
        pod("first", cpu="1", priorityClassName="high"),
        pod("second", cpu="1"),
    )
    worker = Worker(at.cluster)
    worker.step()
    worker.step()
    assert at.together == [1, 1]
    assert at.types()[5:] == ["PodUpdated", "GroupAttempted", "PodNominated", "PodEvicted"]
    worker.settle(at.clock)
    at.assert_sound()


def test_attempts_are_timed_from_each_decision_to_the_commit(scene: Callable[..., Scene]) -> None:
    at = scene(node("n", cpu="8"), *GANGS)
    told: list[tuple[GroupAttempted, float]] = []

    def timed(attempt: GroupAttempted, seconds: float) -> None:
        assert at.cluster.log.head().position == 25
        told.append((attempt, seconds))

    Worker(at.cluster, timed=timed).step()
    assert [attempt.entity for attempt, _ in told] == [f"PodGroup/default/{name}" for name in "abcd"]
    seconds = [each for _, each in told]
    assert seconds == sorted(seconds, reverse=True)


def test_listeners_hear_of_what_is_durable_only(scene: Callable[..., Scene]) -> None:
    at = scene(node("n", cpu="8"), *GANGS)
    heard: list[int] = []

    def listen(state: State, events: Sequence[Event]) -> None:
        assert at.cluster.log.head().position == state.position == events[-1].position
        heard.append(len(events))

    at.cluster.listen(listen)
    Worker(at.cluster).settle(at.clock)
    assert heard == [12, 8]


# When it comes to nothing


def in_the_run(monkeypatch: pytest.MonkeyPatch, number: int, happens: Callable[[], object]) -> list[Decision]:
    """Lets something happen after decision `number`, from 1; gives the decisions made."""
    made: list[Decision] = []

    def decide_while_it_happens(state: State, now: int) -> Decision | None:
        decision = decide(state, now)
        if decision is not None:
            made.append(decision)
            if len(made) == number:
                happens()
        return decision

    monkeypatch.setattr(loop, "decide", decide_while_it_happens)
    return made


@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_writer_in_between_leaves_the_first_decision_alone(
    number: int, scene: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    at = scene(node("n", cpu="8"), *GANGS)
    made = in_the_run(monkeypatch, number, lambda: at.open().apply([node("m", cpu="64")]))
    worker = Worker(at.cluster)
    assert worker.step()
    assert at.together == [4, 1]
    assert at.types()[13:] == ["NodeAdded", "GroupAttempted", "PodBound", "PodBound"]
    at.assert_sound()
    worker.settle(at.clock)
    assert [decision.attempt.entity for decision in made[4:]] == [f"PodGroup/default/{x}" for x in "bcd"]
    assert {each.node for each in at.cluster.state.pods.values()} == {"n", "m"}
    at.assert_sound()


def test_nothing_of_a_run_stands_if_the_first_does_not(
    scene: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    at = scene(node("n", cpu="8"), *GANGS)
    in_the_run(monkeypatch, 3, lambda: at.open().apply([node("n", cpu="4")]))
    worker = Worker(at.cluster)
    assert worker.step()
    assert at.types()[13:] == ["NodeUpdated"]
    worker.settle(at.clock)
    assert sum(each.node is not None for each in at.cluster.state.pods.values()) == 4
    at.assert_sound()


def test_after_a_run_in_vain_decisions_go_one_by_one_for_a_while(
    scene: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "PATIENCE", 2)
    at = scene(node("n", cpu="8"), *[pod(f"p-{n}", cpu="1") for n in range(6)])
    in_the_run(monkeypatch, 1, lambda: at.open().apply([node("m", cpu="1")]))
    worker = Worker(at.cluster)
    for _ in range(7):
        worker.step()
    decisions = [size for size in at.together if size > 1]
    assert decisions == [6, 3]
    at.assert_sound()


def test_a_worker_that_lost_its_lease_commits_nothing_of_a_run(scene: Callable[..., Scene]) -> None:
    at = scene(node("n", cpu="8"), *GANGS)
    old = acquire(at.store, at.stream, "old", now=START, ttl_us=15 * SECOND)
    acquire(at.store, at.stream, "new", now=START + 16 * SECOND, ttl_us=15 * SECOND)
    before = at.lines()
    with pytest.raises(StaleEpoch):
        Worker(at.cluster, epoch=old.epoch).step()
    assert at.together == [4]
    assert at.lines() == before
    at.assert_sound()


@pytest.mark.parametrize("written", [False, True], ids=["nothing was written", "all was written"])
def test_a_commit_that_fails_leaves_the_state_of_the_log(
    written: bool, scene: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever loses the connection in a commit cannot know whether that was done."""
    at = scene(node("n", cpu="8"), *GANGS)
    append_all = at.cluster.log.append_all
    heard: list[Event] = []
    at.cluster.listen(lambda state, events: heard.extend(events))

    def fail(batches: Sequence[Batch], *, expected: int | None = None) -> list[Outcome]:
        if written:
            append_all(batches, expected=expected)
        raise StoreUnavailable("the connection is gone")

    worker = Worker(at.cluster)
    with monkeypatch.context() as during:
        during.setattr(at.cluster.log, "append_all", fail)
        with pytest.raises(StoreUnavailable):
            worker.step()
    assert at.cluster.state.position == 13
    assert heard == []
    worker.settle(at.clock)
    assert [event.position for event in heard] == list(range(14, 34))
    at.assert_sound()


# The same as one by one


def _one_by_one(cluster: Cluster) -> None:
    while (decision := decide(cluster.state, cluster.clock.now())) is not None:
        cluster.commit(decision)


def _in_runs(cluster: Cluster, lengths: list[int]) -> None:
    """Runs of `lengths`, and what is left in one."""

    def run(length: int) -> Iterator[Decision]:
        for _ in range(length):
            decision = decide(cluster.state, cluster.clock.now())
            if decision is None:
                return
            yield decision

    for length in [*lengths, 1_000]:
        cluster.commit_run(run(length))


def test_a_run_leaves_the_log_of_single_commits(shared_store: Store) -> None:
    on_a_server = shared_store.url.get_backend_name() != "sqlite"
    asked = st.lists(actions(), min_size=1, max_size=8)

    @given(st.lists(st.tuples(asked, st.sampled_from([0, 1, 60])), min_size=1, max_size=4), st.data())
    @settings(max_examples=settings().max_examples // (5 if on_a_server else 1))
    def holds(story: list[tuple[list[Action], int]], data: st.DataObject) -> None:
        begin = [*CLASSES, node("n0", cpu="4"), *GANGS]
        single, together = Scene(shared_store, *begin), Scene(shared_store, *begin)
        for moves, seconds in story:
            for at in (single, together):
                for action in moves:
                    perform(action, at)
            _one_by_one(single.cluster)
            _in_runs(together.cluster, data.draw(st.lists(st.integers(1, 4), max_size=3), "lengths"))
            assert together.lines() == single.lines()
            for at in (single, together):
                Worker(at.cluster)._let_nodes_act()
                at.clock.advance_to(at.clock.now() + seconds * SECOND)
        together.assert_sound()
        assert encode_state(together.cluster.state) == encode_state(single.cluster.state)

    holds()


def test_whoever_writes_in_a_run_and_whenever(shared_store: Store) -> None:
    on_a_server = shared_store.url.get_backend_name() != "sqlite"

    @given(st.lists(actions(), max_size=8), st.lists(st.tuples(actions(), st.integers(1, 4)), min_size=1))
    @settings(max_examples=settings().max_examples // (5 if on_a_server else 1))
    def holds(first: list[Action], moves: list[tuple[Action, int]]) -> None:
        at = Scene(shared_store, *CLASSES, node("n0", cpu="4"), *GANGS)
        for action in first:
            perform(action, at)
        for action, number in moves:
            at.cluster.refresh()
            head = at.cluster.state.position
            other = Asking(at.open())
            try:
                at.cluster.commit_run(_interrupted(at, number, partial(perform, action, other)))
            except PositionConflict:
                assert at.cluster.state.position == head
                at.cluster.refresh()
            assert at.cluster.state.position == at.cluster.log.head().position
        at.assert_sound()

    holds()


def _interrupted(at: Scene, number: int, happens: Callable[[], object]) -> Iterator[Decision]:
    """All decisions that are due, and something that happens before number `number`, from 1, is used."""
    for made in count(1):
        decision = decide(at.cluster.state, at.clock.now())
        if made == number:
            happens()
        if decision is None:
            return
        yield decision
