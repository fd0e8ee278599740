"""Random clusters that a real kube-scheduler 1.37.2 decided, the same in two runs, and ganger decides.

Where kube-scheduler takes any of equal nodes, another outcome can be as right: `TIES` has such
clusters, each with what shows it.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from domain.admission.kinds import COMPOSITE_POD_GROUP, POD, POD_GROUP
from domain.events import SchedulerConfigured
from domain.times import SECOND
from recorded import FOLDER, Said, as_ganger, condition, is_plain, loose, translated
from store.engine import Store, open_store
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.loop import Worker
from worker.scenarios import Scenario, find_scenarios, run_scenario

TIES: dict[str, str] = {}
"""Clusters with another outcome than the recorded one that is as right, with the reason."""

RACE = "pod group is unschedulable, pod group preemption: "
"""Begins what the recorded scheduler wrote over a True condition in a race; nothing else is told so."""

COUNTS = re.compile(r"\d+ scheduled, \d+ remaining")
"""How far a group got in the placement that is told about."""

CLUSTERS = list(find_scenarios([FOLDER / "random"]))


def _name(scenario: Scenario) -> str:
    return scenario.path.stem


def _recorded() -> dict[str, dict[str, Any]]:
    lines = (FOLDER / "random" / "recorded.jsonl").read_text().splitlines()
    return {found["file"].removesuffix(".yaml"): found for found in map(json.loads, lines)}


RECORDED = _recorded()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store that all clusters share, each with a stream of its own."""
    opened = open_store(str(tmp_path_factory.mktemp("random") / "ganger.db"), create=True, durable=False)
    yield opened
    opened.close()


@pytest.mark.parametrize("scenario", CLUSTERS, ids=_name)
def test_ganger_decides_as_kube_scheduler_did(store: Store, scenario: Scenario) -> None:
    name = _name(scenario)
    faults = run_scenario(store, scenario, name).faults
    if name in TIES:
        assert faults, f"{name} agrees with the recording: it is no tie"
        return
    assert faults == []
    assert _differences(_tried_again(store, name), RECORDED[name]) == []


def test_the_clusters_are_all_there_and_few_are_ties() -> None:
    names = {_name(scenario) for scenario in CLUSTERS}
    assert names == RECORDED.keys()
    assert len(names) > 200
    assert TIES.keys() <= names
    assert len(TIES) * 20 < len(names)


def _tried_again(store: Store, stream: str) -> Cluster:
    """The cluster once all that waits was tried again, as kube-scheduler does and ganger leaves out.

    Who was refused at first may be told more by then: whom it could evict came later.
    """
    clock = VirtualClock(0)
    cluster = Cluster.open(store, stream, clock=clock)
    clock.advance_to(cluster.state.at)
    cluster.append([SchedulerConfigured(retry="byClock")], actor="test")
    Worker(cluster).advance(clock, clock.now() + 60 * SECOND)
    return cluster


def _differences(cluster: Cluster, recorded: Mapping[str, Any]) -> list[str]:
    """Where what `cluster` says is not what was recorded.

    In which order the recorded scheduler saw the members of a group is unknown, so they count together.
    """
    groups = {group["metadata"]["name"]: group for group in cluster.shown_all(POD_GROUP)}
    chance = _groups_of_chance(cluster)
    found = []
    for name, said in recorded["groups"].items():
        ours, theirs = condition(groups[name], "PodGroupInitiallyScheduled"), _said(said)
        plain = is_plain(groups[name])
        ours = None if ours is None else replace(ours, message=_own(ours.message, plain=plain))
        theirs = None if theirs is None else replace(theirs, message=translated(theirs.message, plain=plain))
        if name in chance and ours is not None and theirs is not None:
            ours, theirs = (
                replace(each, message=COUNTS.sub("some", each.message)) for each in (ours, theirs)
            )
        if ours != theirs:
            found.append(f"{name} was told {theirs}, and is {ours}")
    told, was_told = Counter[tuple[str, str, bool]](), Counter[tuple[str, str, bool]]()
    for pod in cluster.shown_all(POD):
        name, group = pod["metadata"]["name"], pod["spec"].get("schedulingGroup", {}).get("podGroupName", "")
        if group in chance:
            continue
        plain = group not in groups or is_plain(groups[group])
        ours = condition(pod, "PodScheduled")
        message = "" if ours is None else ours.message
        told[group or name, _own(message, plain=plain), "nodeName" in pod["spec"]] += 1
        theirs_of_pod = recorded["pods"][name]
        text = translated(theirs_of_pod["message"] or "", plain=plain)
        was_told[group or name, text, theirs_of_pod["node"] is not None] += 1
    return found + [f"only recorded: {each}" for each in was_told - told]


def _groups_of_chance(cluster: Cluster) -> set[str]:
    """The groups that a constraint, their own or one above, gives several placements.

    Which of them a refusal tells about is the first in a random order. What they say of their groups
    differs in the numbers of members only.
    """
    bodies = [*cluster.shown_all(COMPOSITE_POD_GROUP), *cluster.shown_all(POD_GROUP)]
    specs = {body["metadata"]["name"]: body["spec"] for body in bodies}

    def constrained(name: str) -> bool:
        spec = specs[name]
        parent = spec.get("parentCompositePodGroupName")
        return bool(spec.get("schedulingConstraints")) or (parent is not None and constrained(parent))

    return {name for name in specs if constrained(name)}


def _own(text: str, *, plain: bool) -> str:
    return text if plain else loose(text)


def _said(recorded: Mapping[str, Any]) -> Said | None:
    if recorded["status"] is None:
        return None
    if as_ganger(recorded["message"], plain=True).startswith(RACE):
        return Said("True", "Scheduled", "")
    return Said(recorded["status"], recorded["reason"], recorded["message"])
