"""A state machine over store, reducer and worker: anything is asked of a cluster, in any order.

After every step the log folds from nothing, and from any snapshot, to the running State; its batches
are whole and its chain holds; and nobody sleeps who could start.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from domain import events as ev
from domain.admission.kinds import kind_named
from domain.envelope import decode_line
from domain.errors import PositionConflict
from domain.reducer import fold
from domain.scheduling.cycle import Decision, decide
from domain.state import FORMAT, State, encode_state
from domain.times import SECOND
from domain.upcast import CURRENT
from ganger_testing.actions import Action, perform
from ganger_testing.book import lost_wake_ups
from ganger_testing.manifests import Manifest, key_of
from ganger_testing.strategies import CLASSES, any_actions, node_manifests
from store.engine import Store
from store.snapshots import Snapshots
from store.verify import verify
from worker.clocks import START, VirtualClock
from worker.cluster import Cluster
from worker.loop import Limits, Worker

_streams = count(1)

ASKED: st.SearchStrategy[Action] = st.runner().flatmap(lambda machine: machine.asked)
"""What the machine that runs asks for."""


class ClusterMachine(RuleBasedStateMachine):
    """One cluster of `store`, in a stream of its own, under virtual time.

    To be run by `hypothesis.stateful.run_state_machine_as_test(lambda: ClusterMachine(store))`. A class
    of one's own says in `asked` what happens to the cluster and in `classes` which PriorityClasses it
    has, follows all events by `open`, and adds rules and invariants.
    """

    asked: ClassVar[st.SearchStrategy[Action]] = any_actions()
    classes: ClassVar[Sequence[Manifest]] = CLASSES

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        self.stream = f"machine-{next(_streams)}"
        self.clock = VirtualClock(START)
        self._uids = count(1)
        self.open()

    def open(self) -> None:
        """What a new process does."""
        self.cluster = self._opened()
        self.worker = Worker(self.cluster)

    def _opened(self) -> Cluster:
        return Cluster.open(self.store, self.stream, clock=self.clock, new_uid=self._new_uid)

    def _new_uid(self) -> str:
        return f"00000000-0000-4000-8000-{next(self._uids):012x}"

    @property
    def state(self) -> State:
        return self.cluster.state

    # What actions ask for

    def apply(self, manifests: Sequence[Manifest]) -> None:
        self.cluster.apply(manifests)

    def configure(self, document: Mapping[str, Any]) -> None:
        self.cluster.configure(dict(document))

    def delete(self, kind: str, key: str, *, grace: int | None = None) -> None:
        self.cluster.delete([(kind_named(kind), key)], grace=grace)

    def stored(self, kind: str, key: str) -> Any:
        return self.cluster.new_batch().get(kind, key)

    # Rules

    @initialize(
        nodes=st.lists(node_manifests(), min_size=1, max_size=4, unique_by=key_of),
        asked=st.lists(ASKED, min_size=1, max_size=3),
    )
    def begin(self, nodes: list[Manifest], asked: list[Action]) -> None:
        self.cluster.apply([*self.classes, *nodes])
        self.act(asked)

    @rule(asked=st.lists(ASKED, min_size=1, max_size=4))
    def act(self, asked: list[Action]) -> None:
        for action in asked:
            before = self.cluster.log.head()
            if not perform(action, self):
                assert self.cluster.log.head() == before, "refused, but the log has changed"

    @rule(action=ASKED)
    def another_process_acts(self, action: Action) -> None:
        """The cluster of this process hears of it when it next looks."""
        self._another_process_acts_unheard(action)
        self.cluster.refresh()

    def _another_process_acts_unheard(self, action: Action) -> None:
        mine, self.cluster = self.cluster, self._opened()
        perform(action, self)
        self.cluster = mine

    @rule(steps=st.integers(1, 8), most=st.sampled_from([1, 2, 3, 64]))
    def work(self, steps: int, most: int) -> None:
        self.worker.limits = Limits(decisions=most)
        for _ in range(steps):
            self.worker.step()

    @rule(number=st.integers(1, 3), action=ASKED)
    def another_process_acts_in_a_run(self, number: int, action: Action) -> None:
        """While decision `number` is made; then none of the run is in the log."""

        def run() -> Iterator[Decision]:
            for made in count(1):
                decision = decide(self.state, self.clock.now())
                if decision is None:
                    return
                if made == number:
                    self._another_process_acts_unheard(action)
                yield decision

        head = self.cluster.log.head()
        try:
            self.cluster.commit_run(run())
        except PositionConflict:
            assert self.state.position == head.position
            self.cluster.refresh()

    @rule(milliseconds=st.sampled_from([1, 400, 1000, 2500]))
    def let_time_pass(self, milliseconds: int) -> None:
        self.clock.advance_to(self.clock.now() + milliseconds * SECOND // 1000)

    @rule(data=st.data())
    def a_binding_fails(self, data: st.DataObject) -> None:
        """As a live cluster may answer."""
        bound = [
            pod for pod in self.state.pods.values() if pod.node and not pod.terminal and pod.deletion is None
        ]
        if bound:
            pod = data.draw(st.sampled_from(bound), "Pod")
            assert pod.node is not None
            failed = ev.BindingFailed(
                pod=pod.key, uid=pod.uid, group=pod.group, node=pod.node, message="no route to the node"
            )
            self.cluster.append([failed], actor="live")

    @rule(seconds=st.sampled_from([0, 3, 60]))
    def work_until(self, seconds: int) -> None:
        self.worker.advance(self.clock, self.clock.now() + seconds * SECOND)

    @rule()
    def settle(self) -> None:
        """Nothing is left that time alone would move."""
        self.worker.settle(self.clock)

    @rule(back=st.integers(0, 20))
    def take_a_snapshot(self, back: int) -> None:
        position = max(self.state.position - back, 1)
        stored = self.cluster.log.get(position)
        assert stored is not None
        body = encode_state(self.cluster.state_at(position))
        Snapshots(self.store, self.stream, format=FORMAT).save(position, stored.hash, body)

    @rule()
    def restart(self) -> None:
        before = encode_state(self.state)
        self.open()
        assert self.cluster.notes == []
        assert encode_state(self.state) == before

    # What always holds

    @invariant()
    def the_log_says_it_all(self) -> None:
        stored = list(self.cluster.log.read())
        events = [CURRENT.event(each.type, each.line) for each in stored]
        assert encode_state(fold(State(), events)) == encode_state(self.state)
        assert verify(self.cluster.log).position == self.state.position
        batches: dict[int, list[int]] = {}
        for each in stored:
            envelope = decode_line(each.line)
            batches.setdefault(envelope.batch, []).append(envelope.index)
            if envelope.kind == "PodBound":
                assert decode_line(stored[envelope.batch - 1].line).kind == "GroupAttempted"
        for first, indexes in batches.items():
            assert indexes == list(range(len(indexes))), f"the batch of position {first} is not whole"

    @invariant()
    def nobody_sleeps_who_could_start(self) -> None:
        assert lost_wake_ups(self.state, self.clock.now()) == []

    def teardown(self) -> None:
        self.settle()
