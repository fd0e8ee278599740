"""Every type of event in one line of plain English, as seen from one of its subjects."""

from typing import Any

import msgspec
import pytest

from build import START, Manifest, Story, fact, group, node, pod
from domain import events as ev
from domain.envelope import canonical
from domain.summaries import summary_of

POD = "Pod/default/a"
GROUP = "PodGroup/default/trainer"
NODE = "Node/n1"
DELETION = ev.Deletion(at=START, grace=30)


def raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(canonical(value))


def updated(manifest: Manifest) -> ev.Payload:
    return fact(manifest, "Updated")


def attempt(number: int = 1, outcome: str = "unschedulable", **fields: Any) -> ev.GroupAttempted:
    return ev.GroupAttempted(
        at=START, entity=GROUP, number=number, outcome=outcome, scheduler="ganger", snapshot=1, **fields
    )


def finding(**fields: Any) -> ev.GroupFinding:
    return ev.GroupFinding(created=3, group=GROUP, minimum=3, policy="gang", status="Unschedulable", **fields)


def kept(kind: str, name: str = "x") -> Manifest:
    return {"kind": kind, "metadata": {"name": name}}


TAINTS = [{"key": "gpu", "effect": "NoSchedule"}]

CASES = [
    pytest.param(fact(pod("a")), POD, "created", id="PodAdded"),
    pytest.param(fact(pod("a", node="n1")), POD, "created on n1", id="PodAdded on a node"),
    pytest.param(fact(pod("a", group="trainer")), GROUP, "Pod a created", id="PodAdded to its group"),
    pytest.param(fact(pod("a", node="n1")), NODE, "Pod default/a created on n1", id="PodAdded to its node"),
    pytest.param(updated(pod("a")), POD, "changed", id="PodUpdated"),
    pytest.param(
        ev.PodUpdated(key="default/a", status=raw({"phase": "Running"})),
        POD,
        "is Running",
        id="PodUpdated, status",
    ),
    pytest.param(
        ev.PodUpdated(key="default/a", deletion=DELETION),
        POD,
        "is being deleted, with 30 s of grace",
        id="PodUpdated, deletion",
    ),
    pytest.param(ev.PodDeleted(key="default/a", uid="u"), POD, "gone", id="PodDeleted"),
    pytest.param(
        ev.PodDeleted(key="default/a", uid="u", node="n1"),
        NODE,
        "Pod default/a gone from n1",
        id="PodDeleted, bound",
    ),
    pytest.param(ev.PodBound(pod="default/a", uid="u", node="n1"), POD, "bound to n1", id="PodBound"),
    pytest.param(
        ev.PodNominated(pod="default/a", uid="u", node="n1"), POD, "hopes for n1", id="PodNominated"
    ),
    pytest.param(
        ev.PodNominated(pod="default/a", uid="u"),
        POD,
        "hopes for no node any more",
        id="PodNominated, no more",
    ),
    pytest.param(
        ev.PodEvicted(
            at=START, grace=0, message="preempted", node="n1", pod="default/a", preemptor="default/b", uid="u"
        ),
        POD,
        "evicted from n1 for default/b: preempted",
        id="PodEvicted",
    ),
    pytest.param(
        ev.BindingFailed(message="no", node="n1", pod="default/a", uid="u"),
        POD,
        "not taken by n1: no",
        id="BindingFailed",
    ),
    pytest.param(fact(group("trainer", 3)), GROUP, "created: gang, minCount 3", id="PodGroupAdded"),
    pytest.param(fact(group("trainer")), GROUP, "created: basic", id="PodGroupAdded, basic"),
    pytest.param(updated(group("trainer", 2)), GROUP, "changed: gang, minCount 2", id="PodGroupUpdated"),
    pytest.param(
        ev.PodGroupUpdated(key="default/trainer", deletion=DELETION),
        GROUP,
        "is being deleted",
        id="PodGroupUpdated, deletion",
    ),
    pytest.param(ev.PodGroupDeleted(key="default/trainer", uid="u"), GROUP, "gone", id="PodGroupDeleted"),
    pytest.param(
        fact(node("n1", gpu=8)),
        NODE,
        "created: cpu 8, memory 32Gi, nvidia.com/gpu 8, pods 110",
        id="NodeAdded",
    ),
    pytest.param(
        updated(node("n1", unschedulable=True, taints=TAINTS)),
        NODE,
        "changed: cpu 8, memory 32Gi, pods 110, cordoned, tainted gpu:NoSchedule",
        id="NodeUpdated",
    ),
    pytest.param(ev.NodeDeleted(key="n1", uid="u"), NODE, "gone", id="NodeDeleted"),
    pytest.param(
        ev.SchedulerConfigured(), "Scheduler", "the scheduler was configured", id="SchedulerConfigured"
    ),
    *(
        pytest.param(fact(kept(kind), change), f"{kind}/x", summary, id=f"{kind}{change}")
        for kind in ("CompositePodGroup", "Workload", "PriorityClass", "PodDisruptionBudget", "Namespace")
        for change, summary in (("Added", "created"), ("Updated", "changed"))
    ),
    *(
        pytest.param(
            ev.PAYLOADS[f"{kind}Deleted"](key="x", uid="u"), f"{kind}/x", "gone", id=f"{kind}Deleted"
        )
        for kind in ("CompositePodGroup", "Workload", "PriorityClass", "PodDisruptionBudget", "Namespace")
    ),
    pytest.param(
        attempt(groups=(finding(message="too few, and so on", text="too few"),)),
        GROUP,
        "attempt 1: Unschedulable: too few, and so on",
        id="GroupAttempted, refused",
    ),
    pytest.param(
        attempt(groups=(finding(message="too few", fitted=("default/a",)),)),
        POD,
        "attempt 1: Unschedulable: too few; it had a place, which was given up with those of its group",
        id="GroupAttempted, to a member that fitted",
    ),
    pytest.param(
        attempt(2, "scheduled", groups=(finding(placed=3),)),
        GROUP,
        "attempt 2: Scheduled, 3 placed",
        id="GroupAttempted",
    ),
    pytest.param(
        attempt(outcome="scheduled"), POD, "attempt 1: Scheduled", id="GroupAttempted, a single Pod"
    ),
    pytest.param(
        attempt(outcome="error", groups=(finding(message="they differ"),)),
        POD,
        "attempt 1: SchedulerError: they differ",
        id="GroupAttempted, error",
    ),
]


@pytest.mark.parametrize(("payload", "subject", "expected"), CASES)
def test_summary(payload: ev.Payload, subject: str, expected: str) -> None:
    assert summary_of(payload, subject) == expected


def test_every_type_of_event_has_a_case() -> None:
    assert {type(case.values[0]).__name__ for case in CASES} == set(ev.PAYLOADS)


def test_an_attempt_that_found_nothing_new_tells_what_was_found_before() -> None:
    first = attempt(groups=(finding(message="too few"),))
    assert summary_of(attempt(2, same_as=7), GROUP, first) == (
        "attempt 2: Unschedulable: too few (found the same as at position 7)"
    )


def test_a_single_pod_tells_what_kept_it_off() -> None:
    story = Story(node("n1", cpu="1"), pod("a", cpu=2000)).decide()
    assert summary_of(story.events[-1].payload, POD).startswith(
        "attempt 1: Unschedulable: 0/1 nodes are available: 1 Insufficient cpu."
    )
