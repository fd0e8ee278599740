"""A fork of a random cluster at a random position: without a change nothing is otherwise."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import Manifest
from domain.admission.kinds import kind_named
from domain.state import encode_state
from ganger_testing.actions import Action, Wait, perform
from ganger_testing.strategies import CLASSES, actions, node_manifests, waits
from live import Live
from store.engine import open_store
from worker.batch import Outcome
from worker.forks import advance_together, forks_of
from worker.moments import moment_of
from worker.replaying import StoredLog, replay
from worker.shown import as_stored, record_of
from worker.whatif import whatif
from worker.windows import end_of_batch


class Asked:
    """What actions are done to: a cluster in a store."""

    def __init__(self, live: Live) -> None:
        self.live = live

    def apply(self, manifests: Sequence[Manifest]) -> list[Outcome]:
        return self.live.cluster.apply(manifests)

    def delete(self, kind: str, key: str, *, grace: int | None = None) -> Outcome:
        (outcome,) = self.live.cluster.delete([(kind_named(kind), key)], grace=grace)
        return outcome

    def stored(self, kind: str, key: str) -> Manifest | None:
        cluster = self.live.cluster
        record = record_of(cluster.state, kind, key)
        return None if record is None else as_stored(record, cluster.manifest_at(record.manifest))


@pytest.fixture(scope="module")
def new_live(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Live]]:
    """Makes empty clusters under virtual time."""
    names = count(1)
    path = shutil.copy(sqlite_template, tmp_path_factory.mktemp("forks") / "ganger.db")
    store = open_store(str(path), create=False, durable=False)
    yield lambda: Live(store, f"cluster-{next(names)}")
    store.close()


@dataclass(frozen=True)
class Away:
    """Time passes, and nobody works."""

    milliseconds: int


Step = Action | Wait | Away


def _run(live: Live, nodes: list[Manifest], steps: list[Step]) -> None:
    live.apply(*CLASSES, *nodes)
    for step in steps:
        match step:
            case Wait():
                live.worker.advance(live.clock, live.clock.now() + step.milliseconds * 1000)
            case Away():
                live.clock.advance_to(live.clock.now() + step.milliseconds * 1000)
            case _:
                perform(step, Asked(live))
    live.worker.advance(live.clock, live.clock.now())


NODES = st.lists(node_manifests(), max_size=3, unique_by=lambda node: str(node["metadata"]["name"]))
STEPS = st.lists(st.one_of(actions(), waits(), st.builds(Away, st.sampled_from([1, 700, 5000]))), max_size=15)


@given(NODES, STEPS, st.data())
def test_without_a_change_nothing_differs(
    new_live: Callable[[], Live], nodes: list[Manifest], steps: list[Step], data: st.DataObject
) -> None:
    live = new_live()
    _run(live, nodes, steps)
    before = live.cluster.log.head()
    position = data.draw(st.integers(0, before.position))

    found = whatif(live.cluster, lambda _: [], at=moment_of(live.cluster, str(position)))

    assert found.same
    assert found.complete
    assert found.recorded is None or not found.recorded.elsewhere
    assert live.cluster.log.head() == before


@given(NODES, STEPS, st.data())
def test_a_fork_has_a_log_that_replays(
    new_live: Callable[[], Live], nodes: list[Manifest], steps: list[Step], data: st.DataObject
) -> None:
    live = new_live()
    _run(live, nodes, steps)
    head = live.cluster.log.head().position
    position = end_of_batch(live.cluster.log, data.draw(st.integers(0, head)))
    (fork,) = forks_of(live.cluster, moment_of(live.cluster, str(position)), 1, head=head)

    advance_together([fork])

    assert replay(StoredLog(fork.branch)).same
    assert encode_state(fork.cluster.state_at(fork.state.position)) == encode_state(fork.state)
