"""The scenario runner: its steps, what it can expect, and what it says when that is not so."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from build import composite, group, node, pod
from store.engine import Store
from trees import leaf
from worker.scenarios import BadScenario, find_scenarios, read_scenario, run_scenario

BIG = pod("big", cpu="9")
JOB = {"workloadName": "job", "templateName": "g"}
ROOM = [node("n1", cpu="4", labels={"rack": "a"}), node("n2", cpu="2", labels={"rack": "b"})]


def write(folder: Path, *steps: dict[str, Any], name: str = "s.yaml") -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump({"name": "a scenario", "features": ["gang"], "steps": list(steps)}))
    return path


def faults(store: Store, folder: Path, *steps: dict[str, Any]) -> list[str]:
    return run_scenario(store, read_scenario(write(folder, *steps)), "s").faults


def apply(*manifests: dict[str, Any]) -> dict[str, Any]:
    return {"apply": list(manifests)}


# What holds


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([apply(*ROOM, pod("a")), {"expect": {"scheduled": ["a"]}}], id="scheduled"),
        pytest.param([apply(pod("a", gates=["x/y"])), {"expect": {"gated": ["a"]}}], id="a gate of its own"),
        pytest.param([apply(pod("a", group="g")), {"expect": {"gated": ["a"]}}], id="a missing group"),
        pytest.param([apply(*ROOM, BIG), {"expect": {"unschedulable": ["big"]}}], id="unschedulable"),
        pytest.param(
            [
                apply(*ROOM, pod("a")),
                {"settle": {}},
                {"delete": ["Pod/a"]},
                {"expect": {"removed": ["a"], "scheduled": []}},
            ],
            id="removed",
        ),
        pytest.param(
            [
                apply(*ROOM, pod("a"), BIG),
                {"expect": {"count": [{"pods": ["a", "big", "gone"], "scheduled": 1, "unschedulable": 1}]}},
            ],
            id="count",
        ),
        pytest.param(
            [
                apply(*ROOM, pod("a", nodeSelector={"rack": "b"}), pod("b", cpu="3")),
                {"expect": {"nodes": {"a": "n2", "default/b": ["n1", "n9"]}}},
            ],
            id="nodes",
        ),
        pytest.param(
            [
                apply(*ROOM, pod("a", node="n1"), pod("b", node="n1")),
                {"expect": {"sameDomain": [{"pods": ["a", "b"], "key": "rack"}]}},
            ],
            id="same domain",
        ),
        pytest.param(
            [
                apply(BIG),
                {
                    "expect": {
                        "conditions": [
                            {
                                "kind": "Pod",
                                "name": "big",
                                "type": "PodScheduled",
                                "status": "False",
                                "reason": "Unschedulable",
                                "message": "no nodes available to schedule pods",
                            }
                        ]
                    }
                },
            ],
            id="conditions",
        ),
        pytest.param(
            [
                apply(*ROOM, group("g", 1), pod("a", cpu="9", group="g")),
                {
                    "expect": {
                        "explain": [
                            {"kind": "PodGroup", "name": "g", "contains": "minCount (1) cannot be satisfied"},
                            {"kind": "PodGroup", "name": "g", "contains": "2 Insufficient cpu"},
                        ]
                    }
                },
            ],
            id="explain a group by its Pods' messages too",
        ),
        pytest.param(
            [
                apply(*ROOM, composite("c", 1), *leaf("g", 1, [9], parent="c")),
                {
                    "expect": {
                        "explain": [
                            {"kind": "CompositePodGroup", "name": "c", "contains": text}
                            for text in ("minGroupCount (1) cannot be satisfied", "2 Insufficient cpu")
                        ]
                    }
                },
            ],
            id="explain a composite by the messages of all Pods below it",
        ),
        pytest.param(
            [
                apply(*ROOM, group("g", 2), pod("a", group="g")),
                {
                    "expect": {
                        "gated": ["a"],
                        "explain": [
                            {"kind": kind, "name": name, "contains": "waiting for minCount pods from a gang"}
                            for kind, name in (("PodGroup", "g"), ("Pod", "a"))
                        ],
                    }
                },
            ],
            id="explain what is gated, which has no condition",
        ),
        pytest.param(
            [
                apply(*ROOM, pod("b"), group("g", 1), pod("a", group="g")),
                {"expect": {"queue": ["Pod/b", "PodGroup/g"]}},
                {"settle": {}},
                {"expect": {"queue": []}},
            ],
            id="queue, which does not settle first",
        ),
        pytest.param(
            [
                apply(*ROOM, BIG, pod("a")),
                {"expect": {"scheduled": ["a"], "queue": ["Pod/big", "Pod/a"], "unschedulable": ["big"]}},
            ],
            id="who was still to be tried, and what became of them",
        ),
        pytest.param(
            [apply(*ROOM, pod("a")), {"expect": {"queue": [], "scheduled": ["a"]}}],
            id="nobody is to be tried once all is settled",
        ),
        pytest.param(
            [
                apply(*ROOM, pod("a", annotations={"ganger.dev/run-seconds": "90"})),
                {"advance": "1m"},
                {"expect": {"scheduled": ["a"]}},
            ],
            id="advance",
        ),
        pytest.param(
            [{"refuse": {"apply": [group("g", 0)], "contains": "minCount", "code": 422}}], id="refuse"
        ),
        pytest.param([{"refuse": {"apply": [group("g", 0)]}}], id="refuse, whatever the reason"),
        pytest.param(
            [
                apply(*ROOM),
                {"delete": ["Node/n1", "node/n2"]},
                apply(pod("a")),
                {"expect": {"unschedulable": ["a"]}},
            ],
            id="delete",
        ),
        pytest.param(
            [
                apply(*ROOM, group("g", 2), pod("a", group="g"), pod("b", group="g")),
                {"settle": {}},
                {"delete": ["Pod/a", "Pod/b", "PodGroup/g"]},
                apply(group("g", 1), pod("a", group="g")),
                {"expect": {"scheduled": ["a"], "removed": ["b"]}},
            ],
            id="what was deleted, made again",
        ),
    ],
)
def test_passes(steps: list[dict[str, Any]], sqlite_store: Store, tmp_path: Path) -> None:
    assert faults(sqlite_store, tmp_path, *steps) == []


# What does not


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        pytest.param(
            {"scheduled": ["a", "big"]},
            "expected big scheduled, it is unschedulable: 0/2 nodes are available: 2 Insufficient cpu.",
            id="scheduled",
        ),
        pytest.param({"gated": ["a"]}, "expected a gated, it is scheduled on n1", id="gated"),
        pytest.param(
            {"unschedulable": ["held"]}, "expected held unschedulable, it is gated", id="unschedulable"
        ),
        pytest.param({"removed": ["never"]}, "expected never removed, it is unknown", id="removed"),
        pytest.param(
            {"count": [{"pods": ["a", "big"], "scheduled": 2}]},
            "expected 2 scheduled, got 1: a scheduled on n1, big unschedulable",
            id="count",
        ),
        pytest.param(
            {"nodes": {"a": ["n2", "n3"]}}, "expected a on n2 or n3, it is scheduled on n1", id="nodes"
        ),
        pytest.param(
            {"sameDomain": [{"pods": ["a", "big"], "key": "rack"}]},
            "expected one value of rack, got {'a': 'a', 'big': None}",
            id="same domain",
        ),
        pytest.param(
            {"conditions": [{"kind": "Pod", "name": "big", "type": "PodScheduled", "status": "True"}]},
            "expected Pod/big PodScheduled with status 'True', got {",
            id="conditions",
        ),
        pytest.param(
            {"conditions": [{"kind": "Pod", "name": "never", "type": "PodScheduled", "status": "True"}]},
            "expected Pod/never PodScheduled with status 'True', got no such condition",
            id="conditions of nothing",
        ),
        pytest.param(
            {"explain": [{"kind": "Pod", "name": "big", "contains": "nvidia.com/gpu"}]},
            "expected Pod/big to explain 'nvidia.com/gpu', got ['0/2 nodes are available: ",
            id="explain",
        ),
        pytest.param(
            {"queue": ["Pod/a"]},
            "expected the active lane to be ['Pod/default/a'], it is []",
            id="queue",
        ),
    ],
)
def test_says_what_was_expected_and_what_was(
    expected: dict[str, Any], text: str, sqlite_store: Store, tmp_path: Path
) -> None:
    begin = apply(*ROOM, pod("a"), BIG, pod("held", gates=["x/y"]))
    (fault,) = faults(sqlite_store, tmp_path, begin, {"settle": {}}, {"expect": expected})
    assert fault.startswith("step 3 (expect): ")
    assert text in fault


@pytest.mark.parametrize(
    ("step", "text"),
    [
        pytest.param({"refuse": {"apply": ROOM}}, "expected a refusal, but the batch was taken", id="taken"),
        pytest.param(
            {"refuse": {"apply": [group("g", 0)], "code": 409}}, "expected code 409, got 422: ", id="code"
        ),
        pytest.param(
            {"refuse": {"apply": [group("g", 0)], "contains": ["minCount", "no such text"]}},
            "expected a refusal with 'no such text', got ",
            id="text",
        ),
        pytest.param(apply(group("g", 0)), "spec.schedulingPolicy.gang.minCount", id="apply that is refused"),
        pytest.param({"delete": ["Pod/never"]}, '"never" not found', id="delete nothing"),
        pytest.param({"delete": ["Pod"]}, "'Pod' names no object: must be Kind/name", id="delete no name"),
    ],
)
def test_a_step_that_fails_says_why(
    step: dict[str, Any], text: str, sqlite_store: Store, tmp_path: Path
) -> None:
    (fault,) = faults(sqlite_store, tmp_path, {"settle": {}}, step)
    assert fault.startswith(f"step 2 ({next(iter(step))}): ")
    assert text in fault


def test_nothing_is_done_after_the_first_step_that_fails(sqlite_store: Store, tmp_path: Path) -> None:
    found = faults(
        sqlite_store,
        tmp_path,
        {"expect": {"scheduled": ["a", "b"]}},
        {"expect": {"scheduled": ["c"]}},
    )
    assert [fault.partition(",")[0] for fault in found] == [
        "step 1 (expect): expected a scheduled",
        "step 1 (expect): expected b scheduled",
    ]


def test_each_run_has_the_same_uids_and_times(sqlite_store: Store, tmp_path: Path) -> None:
    scenario = read_scenario(write(tmp_path, apply(*ROOM, pod("a"), BIG), {"advance": "30s"}, {"settle": {}}))
    heads = set()
    for stream in ("one", "two"):
        assert run_scenario(sqlite_store, scenario, stream).passed
        with sqlite_store.reading() as connection:
            found = connection.exec_driver_sql("SELECT hash FROM streams WHERE name = ?", (stream,))
            heads.add(found.scalar())
    assert len(heads) == 1


# Files


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("", "a scenario has a name and a list of steps", id="empty"),
        pytest.param("steps: []\n", "a scenario has a name and a list of steps", id="no name"),
        pytest.param("name: x\nsteps: 5\n", "a scenario has a name and a list of steps", id="no steps"),
        pytest.param("name: x\nsteps: [settle]\n", "step 1: must be one key", id="no step"),
        pytest.param(
            "name: x\nsteps: [{settle: {}, advance: 1s}]\n", "step 1: must be one key", id="two steps in one"
        ),
        pytest.param(
            "name: x\nsteps: [{settle: {}}, {explode: {}}]\n",
            "step 2: unknown step 'explode', must be one of apply, refuse,",
            id="unknown step",
        ),
        pytest.param(
            "name: x\nsteps: []\n---\nname: y\nsteps: []\n",
            "a scenario has a name and a list of steps",
            id="two documents",
        ),
        *[
            pytest.param(
                f"name: x\nsteps: [{{{step}: 5}}]\n",
                f"step 1 ({step}): Expected `{wanted}`, got `int`",
                id=f"{step} of a number",
            )
            for step, wanted in (
                ("apply", "array"),
                ("refuse", "object"),
                ("delete", "array"),
                ("settle", "object"),
                ("advance", "str"),
                ("expect", "object"),
            )
        ],
        *[
            pytest.param(f"name: x\nsteps: [{step}]\n", fault, id=step)
            for step, fault in (
                ("{advance: soon}", "step 1 (advance): must be a length of time, such as 90s"),
                ("{expect: {happy: []}}", "step 1 (expect): unknown expectation 'happy', must be one of sch"),
                ("{expect: {happy: 5}}", "step 1 (expect): unknown expectation 'happy', must be one of sch"),
                ("{apply: [[]]}", "step 1 (apply): Expected `object`, got `array` - at `$[0]`"),
                ("{delete: [5]}", "step 1 (delete): Expected `str`, got `int` - at `$[0]`"),
                ("{refuse: {}}", "step 1 (refuse): Object missing required field `apply`"),
                ("{expect: {nodes: [a]}}", "step 1 (expect): nodes: Expected `object`, got `array`"),
                ("{expect: {gated: a}}", "step 1 (expect): gated: Expected `array`, got `str`"),
                ("{expect: {count: [{}]}}", "count: Object missing required field `pods` - at `$[0]`"),
                ("{expect: {conditions: [{kind: Pod, type: Ready}]}}", "missing required field `name`"),
                ("{expect: {explain: [{kind: Pod, name: a}]}}", "missing required field `contains`"),
                ("{expect: {sameDomain: [{pods: [a]}]}}", "missing required field `key`"),
            )
        ],
    ],
)
def test_a_file_that_is_no_scenario(text: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(BadScenario) as caught:
        read_scenario(path)
    assert str(path) in str(caught.value)
    assert fault in str(caught.value)


def test_scenarios_are_found_in_folders_and_by_name(tmp_path: Path) -> None:
    for folder, name in (("b", "2.yaml"), ("b", "1.yaml"), ("a/deep", "3.yaml")):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        write(tmp_path / folder, {"settle": {}}, name=name)
    (tmp_path / "b" / "notes.txt").write_text("no scenario")
    found = [each.path.relative_to(tmp_path).as_posix() for each in find_scenarios([tmp_path])]
    assert found == ["a/deep/3.yaml", "b/1.yaml", "b/2.yaml"]
    (one,) = find_scenarios([tmp_path / "b" / "2.yaml"])
    assert (one.name, one.features, one.steps) == ("a scenario", ("gang",), (("settle", {}),))
    with pytest.raises(BadScenario, match="there is no such file or folder"):
        list(find_scenarios([tmp_path / "nowhere"]))
