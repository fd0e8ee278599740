"""What an explanation says decided: by name, in one sentence, whatever Kubernetes' text leaves out."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from books import Book
from build import START, Story, composite, group, node, pod
from domain import events as ev
from domain.envelope import canonical
from ganger_testing.manifests import priority_class
from trees import leaf, within

GANG = "PodGroup/default/g"
ENDED = msgspec.Raw(canonical({"phase": "Succeeded"}))


def members(count: int, *, first: int = 0, **spec: Any) -> list[dict[str, Any]]:
    return [pod(f"g-{index}", group="g", **{"cpu": "1", **spec}) for index in range(first, first + count)]


def because(story: Story, subject: str = GANG) -> str:
    cause = story.why(subject).cause
    assert cause is not None
    return cause.text


def required(kind: str, role: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"role": role}}, "topologyKey": "kubernetes.io/hostname"}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def tainted() -> Story:
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    return Story(
        node("n1", gpu=8, taints=[taint]),
        node("n2", gpu=8, taints=[taint]),
        node("c1"),
        group("g", 2),
        *members(2, gpu=8),
    ).decide()


def selected() -> Story:
    return Story(
        node("n1", labels={"pool": "a100"}),
        node("n2", labels={"pool": "h100"}),
        group("g", 1),
        *members(1, nodeSelector={"pool": "a-100"}),
    ).decide()


def two_reasons() -> Story:
    rule = required("podAntiAffinity", "train")
    return Story(
        node("n1"),
        node("n2", cpu="1"),
        pod("svc", node="n1", affinity=rule),
        group("g", 2),
        *members(2, labels={"role": "train"}),
    ).decide()


def ports() -> Story:
    wanted = [{"containerPort": 80, "hostPort": 8080}]
    return Story(node("n1"), group("g", 2), *members(2, ports=wanted)).decide()


def leader_last() -> Story:
    followers = members(2, affinity=required("podAffinity", "leader"))
    return Story(
        node("n1"), group("g", 3), *followers, pod("l", group="g", labels={"role": "leader"})
    ).decide()


def spread() -> Story:
    rule = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "s"}},
    }
    return Story(
        node("a", labels={"zone": "a"}),
        node("b", cpu="1", labels={"zone": "b"}),
        group("g", 4),
        *members(4, labels={"app": "s"}, topologySpreadConstraints=[rule]),
    ).decide()


def beyond_the_minimum() -> Story:
    return Story(node("n1", cpu="2"), group("g", 2), *members(3)).decide().decide()


def unlabelled() -> Story:
    return Story(node("n1"), group("g", 1, **within("rack")), *members(1)).decide()


def one_is_leaving() -> Story:
    story = Story(node("n1"), group("g", 2), *members(2))
    deletion = ev.Deletion(at=story.now, grace=30)
    story.append(ev.PodUpdated(key="default/g-1", group="default/g", deletion=deletion))
    return story.decide()


@pytest.mark.parametrize(
    ("story", "text"),
    [
        pytest.param(
            lambda: Story(node("n1", cpu="5"), group("g", 3), *members(3, cpu="2")).decide(),
            "2 of the 3 Pods it needs have a place, g-2 has none: it asks for 2 cpu, 1 is free on the best "
            "node",
            id="an amount",
        ),
        pytest.param(
            tainted,
            "it needs places for 2 Pods, g-0 has none: it does not tolerate the taint gpu=yes:NoSchedule of "
            "n[1-2]; c1 has less than 8 nvidia.com/gpu free",
            id="a taint",
        ),
        pytest.param(
            selected,
            "it needs a place for 1 Pod, g-0 has none: it asks for nodes with pool=a-100, and of pool "
            "1 node has a100, 1 node has h100",
            id="a label",
        ),
        pytest.param(
            two_reasons,
            "1 of the 2 Pods it needs has a place, g-1 has none: n2 has less than 1 cpu free; "
            "Pod default/svc on n1 may not be near Pods with role=train, by kubernetes.io/hostname",
            id="no amount is lacking where another rule decides",
        ),
        pytest.param(
            ports,
            "1 of the 2 Pods it needs has a place, g-1 has none: it asks for the host port TCP 8080 of its "
            "node",
            id="a host port",
        ),
        pytest.param(
            leader_last,
            "it needs places for 3 Pods, g-0 has none: it has to be near Pods with role=leader, by "
            "kubernetes.io/hostname",
            id="company",
        ),
        pytest.param(
            spread,
            "3 of the 4 Pods it needs have a place, g-3 has none: b has less than 1 cpu free; "
            "Pods with app=s may differ by 1 between the values of zone",
            id="spreading",
        ),
        pytest.param(
            beyond_the_minimum,
            "it has the 2 it needs, g-2 beyond them has no place: it asks for 1 cpu, 0 are free on the best "
            "node",
            id="beyond the minimum",
        ),
        pytest.param(unlabelled, "no node has the label rack", id="no domain at all"),
        pytest.param(
            one_is_leaving,
            "only 1 of the 2 Pods it needs can be tried; Pod g-1 is being deleted and cannot be tried",
            id="a member that is being deleted",
        ),
    ],
)
def test_why_a_group_was_refused(story: Callable[[], Story], text: str) -> None:
    assert because(story()) == text


def test_why_a_single_pod_was_refused() -> None:
    taint = {"key": "gpu", "effect": "NoSchedule"}
    nodes = [node("n1", cpu="2"), node("n2", taints=[taint]), node("n3", taints=[taint])]
    assert because(Story(*nodes, pod("solo", cpu="3")).decide(), "Pod/default/solo") == (
        "it does not tolerate the taint gpu:NoSchedule of n[2-3]; n1 has less than 3 cpu free"
    )


def test_where_there_are_no_nodes_nobody_says_why() -> None:
    assert Story(pod("solo")).decide().why("Pod/default/solo").cause is None


def two_racks() -> Story:
    racks = [node(name, cpu="2", labels={"rack": rack}) for name, rack in (("n1", "a"), ("n2", "b"))]
    placed = [pod(f"g-{index}", group="g", node=f"n{index + 1}") for index in range(2)]
    return Story(*racks, group("g", 2, **within("rack")), *placed, *members(1, first=2)).decide()


def no_rack() -> Story:
    placed = pod("g-0", group="g", node="n1")
    return Story(node("n1"), group("g", 1, **within("rack")), placed, *members(1, first=1)).decide()


def other_scheduler() -> Story:
    placed = pod("x", group="g", node="n1", schedulerName="volcano")
    return Story(node("n1"), group("g", 2), placed, *members(2)).decide()


def dying_with_another_priority() -> Story:
    odd = pod("odd", group="g", priorityClassName="high")
    odd["metadata"]["finalizers"] = ["example.com/keep"]
    book = Book(node("n1"), priority_class("high", 7), group("g", 1), *members(1), odd)
    book.delete("Pod", "default/odd")
    return book.decide()


@pytest.mark.parametrize(
    ("story", "text"),
    [
        pytest.param(
            dying_with_another_priority,
            "Pod odd has priority 7 (PriorityClass high), PodGroup g has 0",
            id="priority of one that is being deleted",
        ),
        pytest.param(
            lambda: Story(node("n1"), group("g", 2, priority=7), *members(2)).decide(),
            "2 Pods (g-0, g-1) have priority 0, PodGroup g has 7",
            id="priority",
        ),
        pytest.param(
            lambda: Story(node("n1"), group("g", 1, preemptionPolicy="Never"), *members(1)).decide(),
            "Pod g-0 has preemption policy PreemptLowerPriority, PodGroup g has Never",
            id="preemption policy",
        ),
        pytest.param(
            other_scheduler,
            "Pod x on n1 has scheduler volcano, g-0 has default-scheduler",
            id="scheduler",
        ),
        pytest.param(
            two_racks,
            "all members have to be in one rack, and there are Pod g-0 in a, Pod g-1 in b",
            id="two domains",
        ),
        pytest.param(no_rack, "Pod g-0 runs on n1, which has no label rack", id="no domain"),
    ],
)
def test_who_makes_an_attempt_an_error(story: Callable[[], Story], text: str) -> None:
    assert because(story()) == text


def test_a_group_that_differs_from_the_root_of_its_tree_is_marked() -> None:
    story = Story(
        node("n1"),
        composite("top", 2, priority=7),
        *leaf("one", 1, [1], parent="top", priority=7, pods={"priority": 7}),
        *leaf("two", 1, [1], parent="top", pods={"priority": 7}),
    ).decide()
    cause = story.why("PodGroup/default/one").cause
    assert cause is not None
    assert cause.path == ("CompositePodGroup/default/top", "PodGroup/default/two")
    assert cause.text == "PodGroup two has priority 0, the root top has 7"


def test_what_was_an_error_and_is_mended_has_no_cause() -> None:
    story = Story(node("n1"), group("g", 1, priority=7), *members(1)).decide()
    story.append(ev.PodDeleted(key="default/g-0", uid="uid-of-g-0", group="default/g"))
    story.add(*members(1, first=1, priority=7))
    assert story.why(GANG).cause is None


def with_foreign() -> Story:
    foreign = [pod(f"v-{index}", group="g", schedulerName="volcano") for index in range(2)]
    return Story(node("n1"), group("g", 4), *members(2), *foreign)


def with_ended() -> Story:
    story = Story(node("n1"), group("g", 2), *members(2)).decide()
    story.append(ev.PodUpdated(key="default/g-0", group="default/g", node="n1", status=ENDED))
    story.append(ev.PodDeleted(key="default/g-1", uid="uid-of-g-1", group="default/g", node="n1"))
    return story.add(*members(1, first=2))


@pytest.mark.parametrize(
    ("story", "note"),
    [
        pytest.param(
            with_foreign,
            "2 of 4 members exist; 2 Pods (v-0, v-1) name the scheduler volcano and do not count",
            id="another scheduler's",
        ),
        pytest.param(
            with_ended, "1 of 2 members exist; Pod g-0 has ended and does not count", id="one that has ended"
        ),
    ],
)
def test_who_does_not_count(story: Callable[[], Story], note: str) -> None:
    assert story().why(GANG).note == note


def test_members_of_a_group_that_is_given_up_had_a_place() -> None:
    story = Story(
        node("n1", cpu="2"),
        composite("top", 2),
        *leaf("one", 2, [1, 1], parent="top"),
        *leaf("two", 1, [1], parent="top"),
    ).decide()
    told = story.why("PodGroup/default/one")
    assert (told.fitted, told.untried) == (("one-0", "one-1"), ())
    assert story.why("Pod/default/one-0").note.startswith("it had a place, which was given up")


def test_a_member_that_is_being_deleted_is_still_there() -> None:
    story = Story(node("n1", cpu="2"), group("g", 2), *members(2)).decide()
    story.append(
        ev.PodUpdated(
            key="default/g-1", group="default/g", node="n1", deletion=ev.Deletion(at=START, grace=9)
        )
    )
    gone = "Pod g-1 is being deleted and still there"
    assert story.why(GANG).note == f"2 members on nodes, none waits; {gone}"
    assert story.add(*members(1, first=2)).decide().why(GANG).note.split("; ")[:2] == [
        "2 members on nodes, 1 waiting",
        gone,
    ]


def test_of_a_tree_the_group_is_named_that_is_in_two_domains() -> None:
    racks = [node(name, labels={"rack": rack}) for name, rack in (("n1", "a"), ("n2", "b"))]
    apart = [pod(f"two-{index + 8}", group="two", node=f"n{index + 1}") for index in range(2)]
    story = Story(
        *racks,
        composite("top", 1),
        *leaf("one", 1, [1], parent="top", **within("rack")),
        *leaf("two", 1, [1], parent="top", **within("rack")),
        *apart,
    ).decide()
    cause = story.why("Pod/default/one-0").cause
    assert cause is not None
    assert cause.path[-1] == "PodGroup/default/two"
    assert cause.text == "all members have to be in one rack, and there are Pod two-8 in a, Pod two-9 in b"


def test_who_does_not_count_in_the_part_that_holds_a_tree() -> None:
    foreign = pod("v", group="one", schedulerName="volcano")
    story = Story(node("n1"), composite("top", 1), *leaf("one", 2, [1], parent="top"), foreign)
    assert because(story, "CompositePodGroup/default/top") == (
        "lacks 1 Pod; Pod v names the scheduler volcano and does not count"
    )
