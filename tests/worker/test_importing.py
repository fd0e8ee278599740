"""Recordings: which lines of a watch stream are facts from outside, and their import."""

import json
from typing import Any

import pytest

from build import Manifest, group, node, pod
from domain.admission.groups import PROTECTION
from domain.admission.kinds import POD, POD_GROUP
from domain.errors import Refused
from domain.times import parse_rfc3339
from store.engine import Store
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.recordings import Change, Fact, Observation, facts_in, take

CREATED = "2026-11-30T04:12:41Z"
BOUND = {"conditions": [{"type": "PodScheduled", "status": "True"}]}
EVICTED = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}
DELETED = {"deletionTimestamp": "2026-11-30T04:13:41Z", "deletionGracePeriodSeconds": 30}


def seen(change: Change, manifest: Manifest, status: Any = None, **metadata: Any) -> Observation:
    """An observation of `manifest`, with more `metadata`."""
    body = {**manifest, "metadata": {**manifest["metadata"], "creationTimestamp": CREATED, **metadata}}
    if status is not None:
        body["status"] = status
    return Observation(manifest["kind"], change, body)


def told(*observations: Observation) -> list[tuple[int, str, str]]:
    """The facts in `observations`: place, change, subject."""
    return [(fact.index, fact.change, f"{fact.kind.name}/{fact.key}") for fact in facts_in(observations)]


A = pod("a", cpu=100)
A_BOUND = pod("a", cpu=100, node="n1")
GATED = pod("a", cpu=100, gates=["example.com/wait"])
G = group("g", 2)
HELD = {"finalizers": ["example.com/hold"]}

ADDED = (0, "ADDED", "Pod/default/a")


@pytest.mark.parametrize(
    ("observations", "facts"),
    [
        pytest.param(
            [
                seen("ADDED", A),
                seen("MODIFIED", A, {"nominatedNodeName": "n1"}, resourceVersion="2"),
                seen("MODIFIED", A_BOUND, BOUND, resourceVersion="3"),
                seen("MODIFIED", A_BOUND, {**BOUND, "phase": "Running"}),
            ],
            [ADDED],
            id="nominated, bound, running",
        ),
        pytest.param(
            [seen("ADDED", A), seen("MODIFIED", A_BOUND), seen("MODIFIED", A_BOUND, {"phase": "Succeeded"})],
            [ADDED, (2, "MODIFIED", "Pod/default/a")],
            id="its work has ended",
        ),
        pytest.param(
            [seen("ADDED", GATED), seen("MODIFIED", A, generation=2)],
            [ADDED, (1, "MODIFIED", "Pod/default/a")],
            id="gate removed",
        ),
        pytest.param(
            [seen("ADDED", A), seen("MODIFIED", A_BOUND, BOUND, labels={"x": "y"})],
            [ADDED, (1, "MODIFIED", "Pod/default/a")],
            id="labelled and bound",
        ),
        pytest.param(
            [
                seen("ADDED", A),
                seen("MODIFIED", A_BOUND),
                seen("MODIFIED", A_BOUND, **DELETED),
                seen("MODIFIED", A_BOUND, **{**DELETED, "deletionGracePeriodSeconds": 0}),
                seen("DELETED", A_BOUND, **DELETED),
                seen("ADDED", A, uid="another"),
            ],
            [ADDED, (2, "DELETED", "Pod/default/a"), (5, "ADDED", "Pod/default/a")],
            id="deleted by a user, and made anew",
        ),
        pytest.param(
            [seen("ADDED", A), seen("DELETED", A)],
            [ADDED, (1, "DELETED", "Pod/default/a")],
            id="deleted while it waited",
        ),
        pytest.param(
            [
                seen("ADDED", A),
                seen("MODIFIED", A_BOUND, EVICTED),
                seen("MODIFIED", A_BOUND, EVICTED, **DELETED),
                seen("DELETED", A_BOUND, EVICTED, **DELETED),
            ],
            [ADDED],
            id="evicted",
        ),
        pytest.param(
            [
                seen("ADDED", A_BOUND, **HELD),
                seen("MODIFIED", A_BOUND, **HELD, **DELETED),
                seen("MODIFIED", A_BOUND, **DELETED),
            ],
            [ADDED, (1, "DELETED", "Pod/default/a"), (2, "MODIFIED", "Pod/default/a")],
            id="let go by its own finalizer",
        ),
        pytest.param(
            [
                seen("ADDED", G, {}, finalizers=[PROTECTION]),
                seen("MODIFIED", G, {"conditions": []}, finalizers=[PROTECTION]),
                seen("MODIFIED", group("g", 4), {}, finalizers=[PROTECTION]),
                seen("MODIFIED", group("g", 4), {}, finalizers=[PROTECTION], **DELETED),
                seen("MODIFIED", group("g", 4), {}, **DELETED),
                seen("DELETED", group("g", 4), {}, **DELETED),
            ],
            [
                (0, "ADDED", "PodGroup/default/g"),
                (2, "MODIFIED", "PodGroup/default/g"),
                (3, "DELETED", "PodGroup/default/g"),
            ],
            id="group decided, changed, deleted, released",
        ),
        pytest.param(
            [
                seen("ADDED", node("n1")),
                seen("MODIFIED", node("n1", cpu="4")),
                seen("DELETED", node("n1", cpu="4")),
            ],
            [(0, "ADDED", "Node/n1"), (1, "MODIFIED", "Node/n1"), (2, "DELETED", "Node/n1")],
            id="node",
        ),
        pytest.param(
            [Observation("Event", "ADDED", {"metadata": {"name": "a.1", "namespace": "default"}})],
            [],
            id="Kubernetes Event",
        ),
        pytest.param(
            [seen("MODIFIED", A, labels={"x": "y"})],
            [(0, "MODIFIED", "Pod/default/a")],
            id="never seen before",
        ),
    ],
)
def test_only_what_came_from_outside_is_a_fact(
    observations: list[Observation], facts: list[tuple[int, str, str]]
) -> None:
    assert told(*observations) == facts


def test_a_manifest_is_what_was_asked_for() -> None:
    status = {"phase": "Failed", **BOUND}
    added, ended = facts_in(
        [
            seen("ADDED", A, {"phase": "Pending", **BOUND}, uid="u", resourceVersion="9", generation=1),
            seen("MODIFIED", A_BOUND, status, uid="u", labels={"x": "y"}, resourceVersion="10"),
        ]
    )
    metadata = {**A["metadata"], "creationTimestamp": CREATED, "uid": "u"}
    assert added.manifest == {**A, "metadata": metadata}
    assert ended.manifest == {
        **A,
        "metadata": {**metadata, "labels": {"x": "y"}},
        "status": {"phase": "Failed"},
    }


def test_a_pod_that_was_on_its_node_from_the_start_is_there() -> None:
    (fact,) = facts_in([seen("ADDED", A_BOUND, {"phase": "Running", **BOUND})])
    assert fact.manifest is not None
    assert fact.manifest["spec"]["nodeName"] == "n1"
    assert fact.manifest["status"] == {"phase": "Running"}


def test_time_is_the_latest_that_was_shown() -> None:
    event = {
        "metadata": {"name": "a.1", "namespace": "default", "creationTimestamp": CREATED},
        "eventTime": "2026-11-30T04:12:45.250000Z",
    }
    facts = list(
        facts_in([seen("ADDED", A), Observation("Event", "ADDED", event), seen("ADDED", pod("b", cpu=100))])
    )
    assert [fact.at for fact in facts] == [
        parse_rfc3339(CREATED),
        parse_rfc3339("2026-11-30T04:12:45.25Z"),
    ]


@pytest.fixture
def cluster(sqlite_store: Store) -> Cluster:
    return Cluster.open(sqlite_store, "imported", clock=VirtualClock(parse_rfc3339(CREATED)))


def facts_of(*observations: Observation) -> list[Fact]:
    return list(facts_in(observations))


def test_facts_are_imported_as_one_batch(cluster: Cluster) -> None:
    facts = facts_of(
        seen("ADDED", node("n1"), uid="n", resourceVersion="7"),
        seen("ADDED", G, {}, uid="g", resourceVersion="8", finalizers=[PROTECTION]),
        seen("ADDED", A, {"phase": "Pending"}, uid="a", resourceVersion="9"),
        seen("MODIFIED", G, {}, uid="g", labels={"x": "y"}, resourceVersion="10", finalizers=[PROTECTION]),
        seen("DELETED", A, uid="a", resourceVersion="11"),
    )
    assert take(cluster, facts) == []
    assert [type(cluster.event(at).payload).__name__ for at in range(1, 6)] == [
        "NodeAdded",
        "PodGroupAdded",
        "PodAdded",
        "PodGroupUpdated",
        "PodDeleted",
    ]
    assert {json.loads(each.line)["batch"] for each in cluster.log.read(0)} == {1}
    shown = cluster.shown(POD_GROUP, "default/g")
    assert shown is not None
    metadata = shown["metadata"]
    assert (metadata["uid"], metadata["creationTimestamp"]) == ("g", CREATED)
    assert metadata["finalizers"] == [PROTECTION]


def test_facts_about_what_is_not_there_are_told(cluster: Cluster) -> None:
    facts = facts_of(
        seen("ADDED", A, uid="a"), seen("MODIFIED", pod("b", cpu=100), uid="b"), seen("DELETED", G, uid="g")
    )
    assert take(cluster, facts) == facts[1:]
    assert cluster.shown(POD, "default/a") is not None
    assert cluster.shown(POD, "default/b") is None


def test_nothing_is_imported_if_something_is_refused(cluster: Cluster) -> None:
    wrong = {**A, "spec": {"containers": []}}
    with pytest.raises(Refused, match=r"spec\.containers: Required value"):
        take(cluster, facts_of(seen("ADDED", node("n1")), seen("ADDED", wrong)))
    assert cluster.state.position == 0
