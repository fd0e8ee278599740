"""What holds for every manifest: it is taken or refused, and what is taken means the same again."""

import copy
from decimal import Decimal
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import Refused
from domain.quantities import canonical_amount
from worlds import Manifest, Objects, a_class, a_composite, a_group, a_node, a_pod, a_workload

BUDGET: Manifest = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "b", "labels": {"a": "b"}},
    "spec": {"minAvailable": "50%", "selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}},
    "status": {"disruptionsAllowed": 1, "disruptedPods": {"a": "2026-01-01T00:00:00Z"}},
}
RICH_POD = a_pod(
    schedulingGroup={"podGroupName": "g"},
    priorityClassName="gold",
    nodeSelector={"a": "b"},
    tolerations=[{"key": "a", "value": "b", "effect": "NoExecute", "tolerationSeconds": 1}],
    schedulingGates=[{"name": "example.com/gate"}],
    overhead={"cpu": "1m"},
    containers=[
        {
            "name": "main",
            "image": "app",
            "ports": [{"containerPort": 80, "hostPort": 80}],
            "resources": {"requests": {"cpu": "0.5"}, "limits": {"nvidia.com/gpu": 1}},
        }
    ],
    affinity={
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]
            },
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}],
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "labelSelector": {}}]
        },
    },
    topologySpreadConstraints=[
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 2}
    ],
)
RICH_POD["metadata"] |= {"labels": {"app": "a"}, "finalizers": ["example.com/hold"]}
LEAF = {"name": "leaf", **a_group()["spec"]}
TREE = a_workload(
    controllerRef={"apiGroup": "batch", "kind": "Job", "name": "j"},
    compositePodGroupTemplates=[
        {"name": "top", "schedulingPolicy": {"gang": {"minGroupCount": 1}}, "podGroupTemplates": [LEAF]}
    ],
)
MANIFESTS = [
    RICH_POD,
    a_group(schedulingConstraints={"topology": [{"key": "rack"}]}, disruptionMode={"all": {}}),
    a_composite(parentCompositePodGroupName="top"),
    TREE,
    a_class("gold", 100, description="for all"),
    a_node(
        spec={"taints": [{"key": "a", "effect": "NoSchedule"}]},
        status={"capacity": {"cpu": "4"}, "images": [{"names": ["app"], "sizeBytes": 5}]},
    ),
    BUDGET,
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}},
]

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-9, max_value=9)
    | st.sampled_from(["", "a", "-1", "1e9", "0.5", "100%", "No_Good", "Never", "gang", "x" * 300]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "key", "cpu", "gang", "all", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) inside `value`."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in pairs for place in [(value, key), *places(item)]]


@st.composite
def spoiled(draw: st.DrawFn) -> tuple[Manifest, Manifest]:
    """A manifest, and the same with a few of its parts replaced, removed or put beside others."""
    manifest = draw(st.sampled_from(MANIFESTS))
    changed = copy.deepcopy(manifest)
    for _ in range(draw(st.integers(1, 3))):
        container, key = draw(st.sampled_from(places(changed)))
        if draw(st.booleans()) or isinstance(container, list):
            container[key] = draw(anything)
        else:
            container.pop(key)
            container[draw(st.sampled_from([str(key), "unknown"]))] = draw(anything)
    return manifest, changed


@given(spoiled())
def test_any_manifest_is_taken_or_refused(pair: tuple[Manifest, Manifest]) -> None:
    manifest, changed = pair
    for world in (Objects(), Objects(a_class("gold", 100)), Objects(a_class("gold", 100), manifest)):
        try:
            admitted = world.apply(changed)
        except Refused:
            continue
        if not admitted.gone:
            assert msgspec.json.decode(msgspec.json.encode(admitted.object)) == admitted.object
            assert world.apply(changed).change == "unchanged"
            assert world.apply(admitted.object).change == "unchanged"


amounts = st.sampled_from(["0", "1", "250m", "0.5", "1.5Gi", "1e3", "3", 2, Decimal("0.25")])
names = st.sampled_from(["cpu", "memory", "ephemeral-storage"])


@given(requests=st.dictionaries(names, amounts), limits=st.dictionaries(names, amounts))
def test_amounts_that_are_taken_are_canonical_and_requests_complete(requests: Any, limits: Any) -> None:
    resources = {"requests": requests, "limits": limits}
    pod = a_pod(containers=[{"name": "main", "image": "app", "resources": resources}])
    try:
        taken = Objects().create(pod).object["spec"]["containers"][0]["resources"]
    except Refused:
        return
    assert taken.get("requests", {}) == {
        name: canonical_amount(amount) for name, amount in {**limits, **requests}.items()
    }
    assert taken["limits"] == {name: canonical_amount(amount) for name, amount in limits.items()}
