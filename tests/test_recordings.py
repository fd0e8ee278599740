"""ganger beside recordings of a real Kubernetes 1.37.2: the same facts, the same outcome."""

from pathlib import Path

import pytest

from recorded import FOLDER, Ganger, Recorded, batches, heard, heard_in, plain_pods, read_recording
from store.engine import Store

RECORDINGS = sorted(FOLDER.glob("*.jsonl")) + sorted(FOLDER.glob("generic-workload/*.jsonl"))

SEEN_HALF_WAY = {"composite-two-of-three": {"default/rep-b-0", "default/rep-b-1"}}
"""Pods that were refused in a cycle that did not know all members yet, of which ganger has none."""


def _name(path: Path) -> str:
    return path.relative_to(FOLDER).with_suffix("").as_posix()


def follow(store: Store, path: Path) -> None:
    """Do both, batch by batch. Raises AssertionError at the first difference."""
    observations = read_recording(path)
    recorded, ganger = Recorded(), None
    for facts, followed in batches(observations):
        ganger = ganger or Ganger(store, _name(path), facts[0].at)
        ganger.tell(facts)
        for observation in followed:
            recorded.follow(observation)
        assert ganger.rest() == recorded.rest()
    assert ganger is not None
    half_way = SEEN_HALF_WAY.get(_name(path), set())
    told = {each for each in heard_in(observations) if each.type == "Normal" or each.pod not in half_way}
    assert heard(ganger.events(), plain_pods(observations)) == told


@pytest.mark.parametrize("path", RECORDINGS, ids=_name)
def test_ganger_ends_as_the_recording_does(sqlite_store: Store, path: Path) -> None:
    follow(sqlite_store, path)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("generic-workload/*.jsonl")), ids=_name)
def test_the_gates_change_nothing_in_kubernetes_events_but_the_wrapping(path: Path) -> None:
    alone, all_gates = read_recording(path), read_recording(FOLDER / path.name)
    assert heard_in(alone)
    assert heard_in(alone) == heard_in(all_gates)
