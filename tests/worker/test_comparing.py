"""What differs between two moments of a cluster that really ran."""

from collections.abc import Callable

import pytest

from build import START, composite, group, node, pod
from domain.difference import Difference
from domain.times import SECOND
from live import Live
from store.engine import Store
from worker.comparing import compare
from worker.moments import Moment

Fields = dict[str, tuple[str | None, str | None]]


@pytest.fixture
def live(sqlite_store: Store) -> Live:
    """A node, a Pod that runs, and a gang that finds no room."""
    live = Live(sqlite_store)
    live.apply(node("n1", cpu="2"), pod("a", cpu="1"), group("g", 2))
    live.apply(pod("g-0", cpu="1", group="g"), pod("g-1", cpu="1", group="g"))
    return live.wait(30)


def _since(live: Live, change: Callable[[Live], object]) -> Difference:
    then = Moment(live.position, live.clock.now())
    change(live)
    live.settle()
    return compare(live.cluster, then)


def _objects(found: Difference) -> dict[str, tuple[str, Fields]]:
    return {
        each.object: (
            each.change,
            {field.field: (field.before, field.after) for field in each.fields if field.field != "manifest"},
        )
        for each in found.objects
    }


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(
            lambda live: live.apply(node("n1", cpu="2", unschedulable=True)),
            {"Node/n1": ("changed", {"cordoned": (None, "yes")})},
            id="cordoned",
        ),
        pytest.param(
            lambda live: live.apply(node("n1", cpu="1", taints=[{"key": "k", "effect": "NoSchedule"}])),
            {
                "Node/n1": (
                    "changed",
                    {"allocatable cpu": ("2", "1"), "taints": (None, "k:NoSchedule")},
                )
            },
            id="tainted, and less of it",
        ),
        pytest.param(
            lambda live: live.apply(node("n2", cpu="1")),
            {
                "Node/n2": (
                    "created",
                    {
                        "allocatable cpu": (None, "1"),
                        "allocatable memory": (None, "32Gi"),
                        "allocatable pods": (None, "110"),
                        "label kubernetes.io/hostname": (None, "n2"),
                    },
                ),
                "PodGroup/default/g": (
                    "changed",
                    {"members": ("0/2 bound", "2/2 bound"), "scheduled": ("Unschedulable", "Scheduled")},
                ),
                "Pod/default/g-0": (
                    "changed",
                    {
                        "node": (None, "n1"),
                        "phase": ("Pending", "Running"),
                        "scheduled": ("Unschedulable", "True"),
                    },
                ),
                "Pod/default/g-1": (
                    "changed",
                    {
                        "node": (None, "n2"),
                        "phase": ("Pending", "Running"),
                        "scheduled": ("Unschedulable", "True"),
                    },
                ),
            },
            id="room for the gang",
        ),
        pytest.param(
            lambda live: live.delete("PodGroup/default/g"),
            {"PodGroup/default/g": ("changed", {"terminating": (None, "2026-01-01T00:00:30.000000Z")})},
            id="a deletion that waits",
        ),
        pytest.param(
            lambda live: live.delete("Pod/default/g-0").apply(pod("g-0", cpu="1", group="g")),
            {"Pod/default/g-0": ("replaced", {})},
            id="another of the same name",
        ),
        pytest.param(
            lambda live: live.apply(composite("c", 1)),
            {
                "CompositePodGroup/default/c": (
                    "created",
                    {
                        "policy": (None, "gang"),
                        "minGroupCount": (None, "1"),
                        "members": (None, "0 ready"),
                        "priority": (None, "0"),
                    },
                )
            },
            id="a composite",
        ),
    ],
)
def test_objects(live: Live, change: Callable[[Live], object], expected: dict[str, object]) -> None:
    assert _objects(_since(live, change)) == expected


def test_a_change_that_scheduling_does_not_see_is_one_of_the_manifest(live: Live) -> None:
    (change,) = _since(live, lambda live: live.apply(pod("a", cpu="1", annotations={"note": "b"}))).objects

    assert (change.object, change.change) == ("Pod/default/a", "changed")
    assert [(each.field, each.before) for each in change.fields] == [("manifest", "written at 2")]


def test_lanes(live: Live) -> None:
    found = _since(live, lambda live: live.apply(node("n2", cpu="1"), pod("held", gates=["q"])))

    assert [
        (each.entity, each.before, each.after, each.attempts_before, each.attempts_after)
        for each in found.lanes
    ] == [
        ("Pod/default/held", None, "gated", 0, 0),
        ("PodGroup/default/g", "unschedulable", None, 1, 0),
    ]


def test_time_alone_moves_between_lanes(live: Live) -> None:
    at = live.position
    (moved,) = compare(live.cluster, Moment(at, START + SECOND // 2), Moment(at, START + 60 * SECOND)).lanes

    assert (moved.entity, moved.before, moved.after) == ("PodGroup/default/g", "backoff", "unschedulable")


def test_configuration(live: Live) -> None:
    document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    found = _since(live, lambda live: live.cluster.configure(document | {"podMaxBackoffSeconds": 60}))

    assert [(each.field, each.before, each.after) for each in found.configuration] == [
        ("podMaxBackoffSeconds", "10", "60")
    ]
    assert not found.objects
