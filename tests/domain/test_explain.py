"""`why`, from States that real events fold to."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from build import GPU, START, Story, composite, group, node, pod
from domain import events as ev
from domain.envelope import canonical
from domain.explanation import Ahead, Fate, Figures, OnNode, Reason, at_level
from domain.scheduling.texts import GATED_MESSAGE, NO_VICTIMS
from domain.state import encode_state
from domain.times import rfc3339_micro

GROUP = "PodGroup/default/trainer"


def gang(members: int, *, gpu: int = 8, **spec: Any) -> list[dict[str, Any]]:
    return [pod(f"trainer-{index}", gpu=gpu, group="trainer", **spec) for index in range(members)]


def refused() -> Story:
    """A gang of 4, 3 GPUs each, on three nodes with 4 GPUs: one member too many."""
    nodes = [node(f"n{index}", gpu=4) for index in range(3)]
    return Story(*nodes, group("trainer", 4), *gang(5, gpu=3, cpu="2")).decide()


def two_in_line() -> Story:
    return (
        Story(
            node("n1"),
            group("urgent", 1, priority=10),
            pod("urgent-0", group="urgent", priority=10),
            group("early", 1),
            pod("early-0", group="early"),
        )
        .wait(1)
        .add(group("trainer", 1), *gang(1))
    )


def too_few() -> Story:
    return Story(node("n1", gpu=8), group("trainer", 8), *gang(5))


def gated_member() -> Story:
    members = gang(2)
    members[1] = pod("trainer-1", group="trainer", gates=["example.com/data", "example.com/quota"])
    return Story(node("n1", gpu=80), group("trainer", 2), *members)


def no_group() -> Story:
    return Story(node("n1", gpu=8), *gang(1))


def mixed_priorities() -> Story:
    return Story(node("n1", gpu=80), group("trainer", 1), *gang(2, priority=5)).decide()


def running() -> Story:
    return Story(node("n1", gpu=8), node("n2", gpu=8), group("trainer", 2), *gang(2)).decide()


def one_left_over() -> Story:
    return Story(node("n1", gpu=8), node("n2", gpu=8), group("trainer", 2), *gang(3)).decide()


def finished() -> Story:
    status = msgspec.Raw(canonical({"phase": "Succeeded"}))
    story = running()
    for member in list(story.state.pods.values()):
        story.append(ev.PodUpdated(key=member.key, group=member.group, node=member.node, status=status))
    return story


def dying_group() -> Story:
    deletion = ev.Deletion(at=START, grace=0)
    return running().append(ev.PodGroupUpdated(key="default/trainer", deletion=deletion))


def binding_failed() -> Story:
    story = Story(node("n1", gpu=8), pod("a", gpu=1)).decide()
    return story.append(ev.BindingFailed(pod="default/a", uid="uid-of-a", node="n1", message="no such luck"))


REFUSAL = f"minCount (4) cannot be satisfied: 3 scheduled, 0 remaining, pod group preemption: {NO_VICTIMS}"
RESTS = "it rests and waits for a node that could have {whom}, or {room} or a place for a Pod set free on one"
SHORT_OF_GPUS = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."


@pytest.mark.parametrize(
    ("story", "subject", "verdict", "lane", "summary", "note"),
    [
        pytest.param(
            two_in_line,
            GROUP,
            Fate.PENDING,
            "active",
            "",
            "it is due and will be tried as number 3 of 3 in line",
            id="a group in line",
        ),
        pytest.param(
            two_in_line,
            "Pod/default/trainer-0",
            Fate.PENDING,
            "active",
            "",
            "it is due and will be tried as number 3 of 3 in line",
            id="a member in line",
        ),
        pytest.param(
            too_few,
            GROUP,
            Fate.GATED,
            "gated",
            "waiting for minCount pods from a gang to appear in scheduling queue",
            "5 of 8 members exist",
            id="members missing",
        ),
        pytest.param(
            gated_member,
            GROUP,
            Fate.GATED,
            "gated",
            "waiting for scheduling gates: [example.com/data example.com/quota]",
            "1 of 2 members has scheduling gates and holds all of it back",
            id="a member has gates",
        ),
        pytest.param(
            gated_member,
            "Pod/default/trainer-1",
            Fate.GATED,
            "gated",
            GATED_MESSAGE,
            "1 of 2 members has scheduling gates and holds all of it back",
            id="the member with gates",
        ),
        pytest.param(
            gated_member,
            "Pod/default/trainer-0",
            Fate.GATED,
            "gated",
            "waiting for scheduling gates: [example.com/data example.com/quota]",
            "1 of 2 members has scheduling gates and holds all of it back",
            id="a sibling of the member with gates",
        ),
        pytest.param(
            no_group,
            "Pod/default/trainer-0",
            Fate.GATED,
            "incomplete",
            'waiting for pods\'s pod group "trainer" to appear in scheduling queue',
            "PodGroup default/trainer does not exist",
            id="the group is missing",
        ),
        pytest.param(
            lambda: Story(group("trainer", 8)),
            GROUP,
            Fate.GATED,
            None,
            "",
            "no Pod names it",
            id="a group without members",
        ),
        pytest.param(
            lambda: Story(group("trainer", 1), *gang(1, schedulerName="other")),
            GROUP,
            Fate.GATED,
            None,
            "",
            "another scheduler places the 1 Pods that name it",
            id="a group of another scheduler's Pods",
        ),
        pytest.param(
            lambda: Story(*gang(1, schedulerName="other")),
            "Pod/default/trainer-0",
            Fate.PRESENT,
            None,
            "",
            "another scheduler places it: spec.schedulerName is other",
            id="another scheduler's Pod",
        ),
        pytest.param(
            refused,
            GROUP,
            Fate.UNSCHEDULABLE,
            "backoff",
            REFUSAL,
            "it backs off until 2026-01-01T00:00:02Z, then rests until something changes",
            id="a refused gang backs off",
        ),
        pytest.param(
            lambda: refused().wait(1).add(node("n9", gpu=8)),
            GROUP,
            Fate.UNSCHEDULABLE,
            "backoff",
            REFUSAL,
            "it backs off and will be tried again at 2026-01-01T00:00:02Z",
            id="a refused gang backs off, woken",
        ),
        pytest.param(
            lambda: refused().wait(2),
            GROUP,
            Fate.UNSCHEDULABLE,
            "unschedulable",
            REFUSAL,
            RESTS.format(whom="its Pods", room="cpu, nvidia.com/gpu"),
            id="a refused gang at rest",
        ),
        pytest.param(
            lambda: refused().wait(2).add(node("n9", gpu=8)),
            GROUP,
            Fate.UNSCHEDULABLE,
            "active",
            REFUSAL,
            "it is due and will be tried again as number 1 of 1 in line",
            id="a refused gang, due again",
        ),
        pytest.param(
            lambda: refused().wait(2),
            "Pod/default/trainer-0",
            Fate.UNSCHEDULABLE,
            "unschedulable",
            f"pod group is unschedulable, {REFUSAL}",
            "it had a place, which was given up with those of its group; "
            + RESTS.format(whom="its Pods", room="cpu, nvidia.com/gpu"),
            id="a member that had a place",
        ),
        pytest.param(
            lambda: refused().wait(2),
            "Pod/default/trainer-4",
            Fate.UNSCHEDULABLE,
            "unschedulable",
            SHORT_OF_GPUS,
            f"no node could take it; {RESTS.format(whom='its Pods', room='cpu, nvidia.com/gpu')}",
            id="a member that fitted nowhere",
        ),
        pytest.param(
            lambda: refused().add(pod("trainer-9", gpu=1, group="trainer")).wait(1),
            "Pod/default/trainer-9",
            Fate.PENDING,
            "backoff",
            "",
            "it came after the last attempt of its group; "
            "it backs off and will be tried again at 2026-01-01T00:00:02Z",
            id="a member that came after the attempt",
        ),
        pytest.param(
            lambda: Story(node("n1"), group("trainer", 3), *gang(4, gpu=1)).decide().wait(2),
            "Pod/default/trainer-3",
            Fate.UNSCHEDULABLE,
            "unschedulable",
            "minCount (3) cannot be satisfied: 0 scheduled, 2 remaining",
            "it was not tried: its group was out of reach before its turn; "
            + RESTS.format(whom="its Pods", room="nvidia.com/gpu"),
            id="a member that was not tried",
        ),
        pytest.param(
            mixed_priorities,
            GROUP,
            Fate.SCHEDULER_ERROR,
            "backoff",
            "all pods in a single pod group should have the same priority as the pod group's priority, "
            "got 5 and 0",
            "it backs off until 2026-01-01T00:00:02Z, then rests until something changes",
            id="members that do not agree",
        ),
        pytest.param(
            running,
            GROUP,
            Fate.SCHEDULED,
            None,
            "",
            "2 members on nodes, none waits",
            id="a gang on nodes",
        ),
        pytest.param(
            running,
            "Pod/default/trainer-0",
            Fate.SCHEDULED,
            None,
            "Successfully assigned default/trainer-0 to n1",
            "it is on n1, bound by attempt 1 at position 6",
            id="a member on its node",
        ),
        pytest.param(
            lambda: running().append(ev.NodeDeleted(key="n1", uid="uid-of-n1")),
            "Pod/default/trainer-0",
            Fate.SCHEDULED,
            None,
            "Successfully assigned default/trainer-0 to n1",
            "it is on n1, a node that has left the cluster, bound by attempt 1 at position 6",
            id="a member on a node that is gone",
        ),
        pytest.param(
            lambda: Story(node("n1"), pod("a", node="n1")),
            "Pod/default/a",
            Fate.SCHEDULED,
            None,
            "",
            "it is on n1, put there by its manifest",
            id="a Pod created on its node",
        ),
        pytest.param(
            lambda: running().append(
                ev.PodUpdated(key="default/trainer-0", deletion=ev.Deletion(at=START, grace=30))
            ),
            "Pod/default/trainer-0",
            Fate.SCHEDULED,
            None,
            "Successfully assigned default/trainer-0 to n1",
            "it is on n1, bound by attempt 1 at position 6; "
            "it is being deleted since 2026-01-01T00:00:00Z, with 30 s of grace",
            id="a member that is being deleted",
        ),
        pytest.param(
            finished,
            GROUP,
            Fate.SCHEDULED,
            None,
            "",
            "2 ended, none waits",
            id="a gang that has ended",
        ),
        pytest.param(
            finished,
            "Pod/default/trainer-0",
            Fate.SCHEDULED,
            None,
            "Successfully assigned default/trainer-0 to n1",
            "it ended (Succeeded) on n1, bound by attempt 1 at position 6",
            id="a member that has ended",
        ),
        pytest.param(
            one_left_over,
            GROUP,
            Fate.PARTLY_SCHEDULED,
            "backoff",
            f"pod group is unschedulable, pod group preemption: {NO_VICTIMS}",
            "2 members on nodes, 1 waiting; "
            "it backs off until 2026-01-01T00:00:02Z, then rests until something changes",
            id="a gang with a member left over",
        ),
        pytest.param(
            dying_group,
            GROUP,
            Fate.SCHEDULED,
            None,
            "",
            "2 members on nodes, none waits; "
            "its deletion, asked for at 2026-01-01T00:00:00Z, waits for its Pods",
            id="a gang that is to be deleted",
        ),
        pytest.param(
            lambda: Story(node("n1", gpu=2), pod("a", gpu=4)).decide().wait(2),
            "Pod/default/a",
            Fate.UNSCHEDULABLE,
            "unschedulable",
            "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/1 nodes are available: "
            "1 Preemption is not helpful for scheduling.",
            RESTS.format(whom="it", room="nvidia.com/gpu"),
            id="a single Pod",
        ),
        pytest.param(
            lambda: Story(pod("a", gates=["example.com/data"])),
            "Pod/default/a",
            Fate.GATED,
            "gated",
            GATED_MESSAGE,
            "it is held: waiting for scheduling gates: [example.com/data]",
            id="a single Pod with a gate",
        ),
        pytest.param(
            binding_failed,
            "Pod/default/a",
            Fate.SCHEDULER_ERROR,
            "backoff",
            "no such luck",
            "it backs off and will be tried again at 2026-01-01T00:00:02Z",
            id="a Pod that its node did not take",
        ),
        pytest.param(
            running,
            "Node/n1",
            Fate.PRESENT,
            None,
            "",
            "1 Pod is on it",
            id="a node",
        ),
        pytest.param(
            lambda: Story(
                node("n1", unschedulable=True, taints=[{"key": "gpu", "value": "a", "effect": "NoSchedule"}])
            ),
            "Node/n1",
            Fate.UNSCHEDULABLE,
            None,
            "",
            "0 Pods are on it; it is cordoned (spec.unschedulable); it is tainted gpu=a:NoSchedule",
            id="a cordoned node",
        ),
        pytest.param(
            lambda: Story({"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}),
            "PriorityClass/high",
            Fate.PRESENT,
            None,
            "",
            "it gives priority 1000",
            id="a priority class",
        ),
        pytest.param(
            lambda: Story({"kind": "Namespace", "metadata": {"name": "team"}}),
            "Namespace/team",
            Fate.PRESENT,
            None,
            "",
            "it exists, and nothing of it is scheduled",
            id="a namespace",
        ),
    ],
)
def test_where_an_object_stands(
    story: Callable[[], Story], subject: str, verdict: Fate, lane: str | None, summary: str, note: str
) -> None:
    told = story().why(subject)
    assert (told.verdict, told.lane, told.summary, told.note) == (verdict, lane, summary, note)


def test_a_refusal_in_numbers() -> None:
    told = refused().wait(2).why(GROUP)
    (shape,) = told.shapes
    assert told.quorum is not None
    assert (told.quorum.created, told.quorum.scheduled, told.quorum.placeable) == (5, 0, 3)
    assert (shape.pods, shape.message, shape.total_nodes) == (("trainer-3", "trainer-4"), SHORT_OF_GPUS, 3)
    assert shape.requests == {"cpu": "2", GPU: "3"}
    assert shape.nodes == (
        Reason(
            reason="Insufficient nvidia.com/gpu",
            filter="NodeResourcesFit",
            count=3,
            preemption_may_help=True,
            examples=("n0", "n1", "n2"),
        ),
    )
    assert shape.resources == (
        Figures(name="cpu", asked="2", free_on_best_node="6", free_in_cluster="18"),
        Figures(name=GPU, asked="3", free_on_best_node="1", free_in_cluster="3"),
    )
    assert (told.fitted, told.untried) == (("trainer-0", "trainer-1", "trainer-2"), ())
    assert told.preemption is not None
    assert (told.preemption.tried, told.preemption.outcome) == (True, NO_VICTIMS)
    assert told.next_try is None
    assert {"NodeAdded", "NodeUpdated", "PodDeleted"} <= set(told.woken_by)


def test_which_attempt_it_was() -> None:
    story = refused().wait(2)
    attempt = story.why(GROUP).attempt
    assert attempt is not None
    assert (attempt.position, attempt.snapshot_position, attempt.findings_position) == (10, 9, 10)
    assert (attempt.number, attempt.outcome) == (1, "unschedulable")


def test_an_attempt_that_found_nothing_new_shows_what_was_found_before() -> None:
    story = refused().wait(2)
    story.append(ev.SchedulerConfigured(retry="byClock")).decide()
    told = story.why(GROUP)
    assert told.attempt is not None
    assert (told.attempt.position, told.attempt.findings_position, told.attempt.number) == (12, 10, 2)
    assert told.summary == REFUSAL
    assert told.shapes == refused().why(GROUP).shapes


def test_a_member_shows_what_kept_the_others_off() -> None:
    story = refused()
    fitted, misfit = story.why("Pod/default/trainer-0"), story.why("Pod/default/trainer-3")
    assert fitted.shapes == misfit.shapes != ()
    assert fitted.entity == misfit.entity == GROUP


def test_who_is_ahead_and_why() -> None:
    line = two_in_line().why(GROUP).line
    assert line is not None
    assert (line.place, line.length) == (3, 3)
    assert line.ahead == (
        Ahead(entity="PodGroup/default/urgent", because="priority 10 is above 0"),
        Ahead(
            entity="PodGroup/default/early",
            because=f"waits since {rfc3339_micro(START)}, this since {rfc3339_micro(START + 1_000_000)}",
        ),
    )


@pytest.mark.parametrize(
    ("story", "subject", "missing", "woken_by"),
    [
        pytest.param(too_few, GROUP, ("3 Pods",), ("PodAdded", "PodGroupUpdated"), id="members"),
        pytest.param(
            gated_member,
            GROUP,
            ("scheduling gates of Pod trainer-1: example.com/data, example.com/quota",),
            ("PodUpdated", "PodDeleted"),
            id="gates",
        ),
        pytest.param(lambda: Story(group("trainer", 1)), GROUP, ("1 Pod",), (), id="all members"),
        pytest.param(refused, GROUP, (), refused().why(GROUP).woken_by, id="nothing"),
    ],
)
def test_what_is_missing_and_what_would_wake_it(
    story: Callable[[], Story], subject: str, missing: tuple[str, ...], woken_by: tuple[str, ...]
) -> None:
    told = story().why(subject)
    assert told.quorum is not None
    assert (told.quorum.missing, told.woken_by) == (missing, woken_by)


def test_where_members_are_by_node() -> None:
    told = one_left_over().why(GROUP)
    assert told.bound == (OnNode(node="n1", pods=("trainer-0",)), OnNode(node="n2", pods=("trainer-1",)))
    assert told.since == rfc3339_micro(START)


def test_what_a_node_has_and_holds() -> None:
    told = running().why("Node/n1")
    assert told.bound == (OnNode(node="n1", pods=("default/trainer-0",)),)
    figures = {each.name: (each.allocatable, each.used, each.free) for each in told.capacity}
    assert next(iter(figures)) == "pods"
    assert figures["pods"] == ("110", "1", "109")
    assert figures["memory"] == ("32Gi", "0", "32Gi")
    assert figures[GPU] == ("8", "8", "0")


@pytest.mark.parametrize(
    ("story", "subject", "placed"),
    [
        pytest.param(running, GROUP, True, id="on nodes"),
        pytest.param(running, "Node/n1", True, id="nothing to be placed"),
        pytest.param(one_left_over, GROUP, False, id="one left over"),
        pytest.param(refused, GROUP, False, id="refused"),
        pytest.param(
            lambda: Story(*gang(1, schedulerName="other")), "Pod/default/trainer-0", False, id="foreign"
        ),
    ],
)
def test_whether_it_is_placed(story: Callable[[], Story], subject: str, placed: bool) -> None:
    assert story().why(subject).placed is placed


@pytest.mark.parametrize(
    ("story", "proof", "argument"),
    [
        pytest.param(
            lambda: Story(node("n1", gpu=8), group("trainer", 4), *gang(4, gpu=4)),
            "infeasible",
            "the 4 members that are needed ask for 16 nvidia.com/gpu, the whole cluster has 8",
            id="more than the cluster has",
        ),
        pytest.param(
            lambda: Story(
                node("n1", gpu=8), pod("a", gpu=6, node="n1"), group("trainer", 2), *gang(2, gpu=4)
            ),
            "infeasible",
            "the 2 members that are needed ask for 8 nvidia.com/gpu, the whole cluster has 2 free",
            id="more than is free",
        ),
        pytest.param(
            refused,
            "infeasible",
            "counted node by node, there is room for 3 of the 4 members needed",
            id="in pieces too small",
        ),
        pytest.param(
            lambda: Story(node("n1"), group("trainer", 2), *gang(2, gpu=1)),
            "infeasible",
            "the 2 members that are needed ask for 2 nvidia.com/gpu, the whole cluster has 0",
            id="of what no node has",
        ),
        pytest.param(
            lambda: Story(group("trainer", 1), *gang(1)), "infeasible", "there are no nodes", id="no nodes"
        ),
        pytest.param(
            lambda: Story(node("n1", gpu=8, unschedulable=True), pod("a", gpu=1)),
            "infeasible",
            "the only node was looked at, and cannot take it",
            id="a single Pod",
        ),
        pytest.param(
            lambda: Story(
                node("n1", gpu=4),
                node("n2", gpu=4),
                group("trainer", 3),
                pod("small-0", gpu=1, group="trainer"),
                pod("small-1", gpu=1, group="trainer"),
                pod("big", gpu=4, group="trainer"),
            ),
            "notFound",
            None,
            id="a placement exists that was missed",
        ),
    ],
)
def test_what_is_proved(story: Callable[[], Story], proof: str, argument: str | None) -> None:
    refusal = story().decide()
    (subject,) = refusal.state.queue.entities
    told = refusal.why(subject)
    assert told.verdict is Fate.UNSCHEDULABLE
    assert (told.proof, told.proof_by) == (proof, argument)


def test_nothing_is_proved_of_what_was_not_refused() -> None:
    for story in (running(), too_few(), mixed_priorities(), two_in_line()):
        told = story.why(GROUP)
        assert (told.proof, told.proof_by) == (None, None)


def test_the_json_has_the_names_of_the_interface() -> None:
    told = msgspec.to_builtins(refused().why(GROUP))
    assert set(told) >= set(
        "object at verdict summary lane attempts nextTry wokenBy quorum attempt shapes placements preemption "
        "proof wouldHelp".split()
    )
    assert set(told["object"]) == {"kind", "namespace", "name", "uid"}
    assert set(told["at"]) == {"position", "time"}
    assert set(told["quorum"]) >= {"policy", "minCount", "created", "scheduled", "placeable", "missing"}
    assert set(told["attempt"]) >= {"position", "snapshotPosition", "number", "scheduler"}
    assert set(told["shapes"][0]) >= {"pods", "requests", "message", "nodes", "resources"}
    assert set(told["shapes"][0]["nodes"][0]) == {
        "reason",
        "filter",
        "count",
        "preemptionMayHelp",
        "examples",
    }
    assert set(told["shapes"][0]["resources"][0]) == {"name", "asked", "freeOnBestNode", "freeInCluster"}
    assert set(told["preemption"]) >= {"tried", "outcome", "victims"}


def test_levels() -> None:
    told = refused().why(GROUP)
    assert at_level(told, 1) is told
    assert set(msgspec.to_builtins(at_level(told, 0))) == {"object", "at", "verdict", "summary", "note"}
    with pytest.raises(ValueError, match="level 4 does not exist"):
        at_level(told, 4)


def test_a_composite_tells_of_the_groups_right_below_it() -> None:
    story = Story(composite("job", 2), composite("part", 1, parentCompositePodGroupName="job"))
    story.add(group("trainer", 1, parentCompositePodGroupName="part"), *gang(1))
    told = story.why("CompositePodGroup/default/job")
    assert (told.verdict, told.entity) == (Fate.GATED, "CompositePodGroup/default/job")
    assert told.summary == 'waiting for composite pod group "job" tree to meet quorum'
    assert told.quorum is not None
    assert (told.quorum.created, told.quorum.ready, told.quorum.scheduled) == (1, 1, 0)
    assert told.quorum.missing == ("1 group with a quorum",)
    assert "PodGroupAdded" in told.woken_by
    story.add(node("n"), pod("trainer-9", group="trainer", node="n"))
    running = story.why("CompositePodGroup/default/part").quorum
    assert running is not None
    assert (running.created, running.ready, running.scheduled) == (1, 1, 1)


def test_asking_changes_nothing() -> None:
    story = refused()
    before = encode_state(story.state)
    for subject in (GROUP, "Pod/default/trainer-0", "Node/n1"):
        story.why(subject)
    assert encode_state(story.state) == before
