import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api_world import CORE, GROUPS, NODES, PODS, Api
from build import group, node, pod

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(["1", "1.5", "100m", "-1", "1e400", "a/b", "2026-01-01T00:00:00Z", "In", "gang"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
WHOLE = {
    NODES: node("n", gpu=1, labels={"a": "b"}, taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}]),
    f"{CORE}/namespaces": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}},
    GROUPS: group("g", min_count=2, priority=0, disruptionMode={"single": {}}),
    PODS: pod(
        "p",
        cpu="1",
        group="g",
        gates=["example.com/hold"],
        annotations={"ganger.dev/run-seconds": "5"},
        tolerations=[{"key": "k", "operator": "Exists"}],
        nodeSelector={"a": "b"},
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
                    ]
                }
            }
        },
        overhead={"cpu": "1m"},
        terminationGracePeriodSeconds=3,
    ),
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets": {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "finalizers": ["a/b"]},
        "spec": {
            "minAvailable": "50%",
            "selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
        },
    },
    "/apis/scheduling.k8s.io/v1/priorityclasses": {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "c"},
        "value": 5,
    },
    "/apis/scheduling.k8s.io/v1beta1/namespaces/default/workloads": {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": "w"},
        "spec": {"podGroupTemplates": [{"name": "a", "schedulingPolicy": {"gang": {"minCount": 1}}}]},
    },
    "/apis/scheduling.k8s.io/v1alpha3/namespaces/default/compositepodgroups": {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": "c"},
        "spec": {
            "workloadRef": {"workloadName": "w", "templateName": "a"},
            "parentCompositePodGroupName": "d",
            "schedulingPolicy": {"gang": {"minGroupCount": 1}},
        },
    },
}


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path into `value` but the empty one."""
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    return [found for key, child in children for found in ((*path, key), *_places(child, (*path, key)))]


@st.composite
def nearly_right(draw: st.DrawFn, whole: dict[str, Any]) -> dict[str, Any]:
    """A manifest in which a value or two are something else."""
    manifest = copy.deepcopy(whole)
    for path in draw(st.lists(st.sampled_from(_places(whole)), min_size=1, max_size=2)):
        inside: Any = manifest
        for key in path[:-1]:
            inside = (
                inside.get(key)
                if isinstance(inside, dict)
                else inside[key]
                if isinstance(inside, list) and key in range(len(inside))
                else None
            )
        if isinstance(inside, dict | list) and (isinstance(inside, dict) or path[-1] in range(len(inside))):
            inside[path[-1]] = draw(VALUES)
    return manifest


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.rpartition("/")[2])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_is_sent_is_taken_or_refused(api: Api, path: str, data: st.DataObject) -> None:
    manifest = data.draw(nearly_right(WHOLE[path]))
    before = api.served.cluster.log.head().position
    reply = api.client.post(path, json=manifest)
    assert reply.status_code < 500, reply.text
    if reply.status_code != 201:
        assert api.served.cluster.log.head().position == before
        return
    created = reply.json()
    name = created["metadata"]["name"]
    assert api.get(f"{path}/{name}") == created
    assert api.client.put(f"{path}/{name}", json=created).status_code == 200
    assert api.client.delete(f"{path}/{name}", params={"gracePeriodSeconds": 0}).status_code == 200
