"""Store, reducer and worker against the reference model, on both stores, in any order of events.

After every step, beside what the machine of `ganger_testing` looks at: the decisions are the model's
and nothing is over-committed.
"""

from hypothesis import HealthCheck, settings
from hypothesis.stateful import rule, run_state_machine_as_test

from beside import Beside
from books import times_told
from build import START
from domain import events as ev
from ganger_testing.machine import ClusterMachine
from store.engine import Store
from strategies import actions
from worker.kube_events import TTL_US, events_about, recent_events


class BesideTheModel(ClusterMachine):
    """By the default profile, the only one that the model knows."""

    asked = actions()

    def __init__(self, store: Store) -> None:
        self.beside = Beside(START)
        super().__init__(store)

    def open(self) -> None:
        super().open()
        self.cluster.listen(self.beside.observe)

    @rule()
    def settle(self) -> None:
        super().settle()
        self.beside.compare_at_rest(self.state, self.clock.now())

    def teardown(self) -> None:
        super().teardown()
        self.each_pod_tells_its_part()

    def each_pod_tells_its_part(self) -> None:
        """The Kubernetes Events of the cluster are those that its Pods tell of by themselves."""
        added = (self.cluster.event(each.position).payload for each in self.cluster.log.of_type("PodAdded"))
        keys = {payload.key for payload in added if isinstance(payload, ev.PodAdded)}
        told = [event for key in sorted(keys) for event in events_about(self.cluster, key)]
        assert times_told(told) == times_told(recent_events(self.cluster, now=START + TTL_US - 1))


def run(machine: type[ClusterMachine], store: Store) -> None:
    on_a_server = store.url.get_backend_name() != "sqlite"
    profile = settings()
    run_state_machine_as_test(
        lambda: machine(store),
        settings=settings(
            max_examples=max(4, profile.max_examples // (10 if on_a_server else 2)),
            stateful_step_count=30,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_any_order_of_events(shared_store: Store) -> None:
    run(BesideTheModel, shared_store)


def test_any_order_of_events_and_configurations(shared_store: Store) -> None:
    run(ClusterMachine, shared_store)
