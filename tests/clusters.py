"""Clusters made up for the placement tests: nodes of all kinds, pods on them, and one to place."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from domain.node_facts import node_facts
from domain.nodes import NodeTable
from domain.peers import Peer, peer_of
from domain.shapes import PodShape, shape_of

Manifest = dict[str, Any]

NAMES = [f"n{number}" for number in range(8)]
ZONE = "topology.kubernetes.io/zone"
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


@dataclass
class Cluster:
    """Nodes, pods with the node they are on (which need not exist), and the pod that is to be placed.

    `namespaces` are the labels of Namespace objects by name.
    """

    nodes: list[Manifest]
    bound: list[tuple[str, Manifest]]
    pod: Manifest = field(default_factory=dict)
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def shape(self) -> PodShape:
        """The shape of the pod, with its peer as soon as anybody has a rule about others."""
        shape = shape_of(self.pod["spec"], *_identity(self.pod))
        rules = shape.peer is not None or any(the_peer(pod).terms is not None for _, pod in self.bound)
        return replace(shape, peer=the_peer(self.pod)) if rules else shape

    def table(self) -> NodeTable:
        table = NodeTable()
        table.crowd.namespaces.update(self.namespaces)
        for node in self.nodes:
            table.put(node_facts(node))
        for name, pod in self.bound:
            table.take(name, shape_of(pod["spec"], *_identity(pod)), the_peer(pod))
        return table


def the_peer(pod: Manifest) -> Peer:
    peer = peer_of(pod["spec"], *_identity(pod))
    return replace(peer, leaving="deletionTimestamp" in pod.get("metadata", {}))


def _identity(pod: Manifest) -> tuple[str, dict[str, str]]:
    metadata = pod.get("metadata", {})
    return metadata.get("namespace", "default"), metadata.get("labels", {})


def taint(key: str, effect: str, value: str = "") -> Manifest:
    return {"key": key, "value": value, "effect": effect}


CPU = ["0", "2", "4500m", "16", "64", "448"]
MEMORY = ["0", "1Gi", "8Gi", "1234567890", "512Gi", "24Ti"]
HUGE = ["8Ei", "9223372036854775807", "9223372036854775808", "100E", "1e20"]

TAINTS = [
    taint("dedicated", "NoSchedule", "gpu"),
    taint("dedicated", "PreferNoSchedule", "gpu"),
    taint("old", "PreferNoSchedule"),
    taint("slow", "PreferNoSchedule"),
    taint("drain", "NoExecute"),
]
TOLERATIONS = [
    {"operator": "Exists"},
    {"operator": "Exists", "effect": "NoSchedule"},
    {"key": "dedicated", "value": "gpu"},
    {"key": "dedicated", "operator": "Equal", "value": "tpu"},
    {"key": "old", "operator": "Exists", "effect": "PreferNoSchedule"},
    {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"},
]
EXPRESSIONS = [
    {"key": ZONE, "operator": "In", "values": ["a", "b"]},
    {"key": ZONE, "operator": "NotIn", "values": ["a"]},
    {"key": ZONE, "operator": "Exists"},
    {"key": ZONE, "operator": "DoesNotExist"},
    {"key": "size", "operator": "Gt", "values": ["7"]},
    {"key": "size", "operator": "Lt", "values": ["10"]},
    {"key": "size", "operator": "Gt", "values": ["large"]},
]
FIELDS = [
    {"key": "metadata.name", "operator": "In", "values": ["n1"]},
    {"key": "metadata.name", "operator": "In", "values": ["n2"]},
    {"key": "metadata.name", "operator": "NotIn", "values": ["n1"]},
]
PORTS = [
    {"containerPort": 80, "hostPort": 80},
    {"containerPort": 80, "hostPort": 80, "protocol": "UDP"},
    {"containerPort": 80, "hostPort": 80, "hostIP": "10.0.0.1"},
    {"containerPort": 80, "hostPort": 80, "hostIP": "10.0.0.2"},
    {"containerPort": 81, "hostPort": 81},
]
IMAGES = [
    {"names": ["app:latest", "app@sha256:1"], "sizeBytes": 900 * 2**20},
    {"names": ["app:latest"], "sizeBytes": 24 * 2**20},
    {"names": ["registry:5000/tool:latest"], "sizeBytes": 4000 * 2**20},
]


def some(draw: Random, values: list[Any], most: int = 2) -> list[Any]:
    """Some of `values`, each at most once, often none."""
    return draw.sample(values, max(0, draw.randint(-1, most)))


def amounts(draw: Random, of: dict[str, list[str]], huge: bool) -> Manifest:
    """A resource list with any of the resources in `of`."""
    named = [name for name in of if draw.random() < 0.7]
    return {name: draw.choice(HUGE if huge and draw.random() < 0.15 else of[name]) for name in named}


def some_node(draw: Random, huge: bool) -> Manifest:
    offered = {"cpu": CPU, "memory": MEMORY, "pods": ["0", "2", "5", "12"], "nvidia.com/gpu": ["1", "8"]}
    labels = {ZONE: draw.choice(["a", "b", "c", ""]), "size": draw.choice(["7", "8", "10", "xl", ""])}
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {
        "metadata": {"labels": {key: value for key, value in labels.items() if value}},
        "spec": {"taints": some(draw, TAINTS), "unschedulable": draw.random() < 0.1},
        "status": {
            "allocatable": allocatable | amounts(draw, offered, huge),
            "images": some(draw, IMAGES),
        },
    }


def some_container(draw: Random, huge: bool) -> Manifest:
    requests = {
        "cpu": ["0", "1m", "100m", "250m", "1", "3"],
        "memory": ["0", "1", "64Mi", "100M", "1Gi"],
        "nvidia.com/gpu": ["0", "0", "0", "0", "1"],
    }
    return {
        "name": "main",
        "image": draw.choice(["app", "app:1", "registry:5000/tool"]),
        "resources": {"requests": amounts(draw, requests, huge)},
        "ports": some(draw, PORTS) if draw.random() < 0.3 else [],
    }


def some_term(draw: Random) -> Manifest:
    return {
        "matchExpressions": some(draw, EXPRESSIONS),
        "matchFields": some(draw, FIELDS) if draw.random() < 0.4 else [],
    }


def some_affinity(draw: Random) -> Manifest:
    affinity: Manifest = {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": draw.randint(1, 100), "preference": some_term(draw)} for _ in range(draw.randint(0, 3))
        ]
    }
    if draw.random() < 0.2:
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
            "nodeSelectorTerms": [some_term(draw) for _ in range(draw.randint(1, 2))]
        }
    return {"nodeAffinity": affinity}


def some_pod(draw: Random, huge: bool) -> Manifest:
    spec: Manifest = {"containers": [some_container(draw, huge) for _ in range(draw.randint(1, 2))]}
    if draw.random() < 0.3:
        spec["initContainers"] = [
            some_container(draw, huge) | draw.choice([{}, {"restartPolicy": "Always"}])
            for _ in range(draw.randint(1, 3))
        ]
    if draw.random() < 0.2:
        spec["overhead"] = draw.choice([{"cpu": "50m"}, {"memory": "1Mi"}])
    if draw.random() < 0.2:
        spec["resources"] = {"requests": draw.choice([{"cpu": "2"}, {"memory": "2Gi"}])}
    if draw.random() < 0.5:
        spec["tolerations"] = some(draw, TOLERATIONS)
    if draw.random() < 0.1:
        spec["nodeSelector"] = {ZONE: "a"}
    if draw.random() < 0.5:
        spec["affinity"] = some_affinity(draw)
    return {"spec": spec}


HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SELECTORS: list[Manifest | None] = [
    None,
    {},
    {"matchLabels": {"app": "web"}},
    {"matchLabels": {"app": "db"}},
    {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]},
    {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]},
    {"matchExpressions": [{"key": "tier", "operator": "Exists"}]},
    {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]},
]
TOPOLOGY_KEYS = [ZONE, ZONE, HOST, HOST, "size"]


def some_pod_term(draw: Random) -> Manifest:
    term: Manifest = {"topologyKey": draw.choice(TOPOLOGY_KEYS), "labelSelector": draw.choice(SELECTORS)}
    if draw.random() < 0.2:
        term["namespaces"] = draw.sample(["default", "red", "blue"], draw.randint(1, 2))
    if draw.random() < 0.2:
        term["namespaceSelector"] = draw.choice([{}, {"matchLabels": {"team": "a"}}])
    if draw.random() < 0.15:
        term[draw.choice(["matchLabelKeys", "mismatchLabelKeys"])] = ["app"]
    return term


def some_pod_rules(draw: Random) -> Manifest:
    """Any of podAffinity and podAntiAffinity, with few required terms: most pods should fit somewhere."""
    rules: Manifest = {}
    for kind in some(draw, ["podAffinity", "podAntiAffinity"]):
        rules[kind] = {
            REQUIRED: [some_pod_term(draw) for _ in range(draw.choice([0, 0, 1, 1, 2]))],
            PREFERRED: [
                {"weight": draw.randint(1, 100), "podAffinityTerm": some_pod_term(draw)}
                for _ in range(draw.choice([0, 0, 1, 2]))
            ],
        }
    return rules


def some_constraint(draw: Random) -> Manifest:
    constraint: Manifest = {
        "topologyKey": draw.choice(TOPOLOGY_KEYS),
        "maxSkew": draw.randint(1, 3),
        "whenUnsatisfiable": draw.choice(["DoNotSchedule", "ScheduleAnyway"]),
        "labelSelector": draw.choice(SELECTORS),
    }
    if draw.random() < 0.2 and constraint["whenUnsatisfiable"] == "DoNotSchedule":
        constraint["minDomains"] = draw.randint(1, 4)
    for policy in some(draw, ["nodeAffinityPolicy", "nodeTaintsPolicy"]):
        constraint[policy] = draw.choice(["Honor", "Ignore"])
    if draw.random() < 0.15:
        constraint["matchLabelKeys"] = ["app"]
    return constraint


def some_neighbour(draw: Random) -> Manifest:
    """A pod with labels, that may have rules about other pods; small, so that others fit beside it."""
    pod = some_pod(draw, huge=False)
    if draw.random() < 0.7:
        pod["spec"] = {"containers": [{"name": "main", "image": "app"}]}
    labels = {"app": draw.choice(["web", "db", ""]), "tier": draw.choice(["front", "", ""])}
    pod["metadata"] = {
        "namespace": draw.choice(["default", "default", "red", "blue"]),
        "labels": {key: value for key, value in labels.items() if value},
    }
    if draw.random() < 0.6:
        pod["spec"]["affinity"] = {**pod["spec"].get("affinity", {}), **some_pod_rules(draw)}
    if draw.random() < 0.4:
        pod["spec"]["topologySpreadConstraints"] = [some_constraint(draw) for _ in range(draw.randint(1, 3))]
    if draw.random() < 0.1:
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return pod


# Drawn once, so that Hypothesis picks among them and a failing cluster shrinks to few of them.
NODES = {huge: [some_node(Random(seed), huge) for seed in range(200)] for huge in (False, True)}
PODS = {huge: [some_pod(Random(seed), huge) for seed in range(600)] for huge in (False, True)}
NEIGHBOURS = [some_neighbour(Random(seed)) for seed in range(1000)]
LIVING = [pod for pod in NEIGHBOURS if "deletionTimestamp" not in pod["metadata"]]
"""Those of them that can be placed: nobody is while it is being deleted."""


def pods() -> st.SearchStrategy[Manifest]:
    return st.sampled_from(PODS[False] + PODS[True])


@st.composite
def clusters(draw: st.DrawFn, *, huge: bool = False) -> Cluster:
    """Up to eight nodes; `huge` has amounts that 64 bits cannot hold, which are calculated otherwise."""
    kinds = draw(st.lists(st.sampled_from(NODES[huge]), max_size=len(NAMES)))
    wanted = draw(st.sampled_from(PODS[huge]))
    others = draw(st.lists(st.sampled_from(PODS[huge]), max_size=3))
    places = st.tuples(st.sampled_from(NAMES), st.sampled_from([wanted, *others]))
    return Cluster(
        nodes=[named(kind, name) for kind, name in zip(kinds, NAMES, strict=False)],
        bound=draw(st.lists(places, max_size=12)),
        pod=wanted,
    )


@st.composite
def crowded_clusters(draw: st.DrawFn) -> Cluster:
    """Clusters whose pods have rules about each other."""
    kinds = draw(st.lists(st.sampled_from(NODES[False]), min_size=1, max_size=len(NAMES)))
    wanted = draw(st.sampled_from(LIVING))
    others = draw(st.lists(st.sampled_from(NEIGHBOURS), max_size=4))
    places = st.tuples(st.sampled_from(NAMES), st.sampled_from([wanted, *others]))
    hosts = [named(kind, name) for kind, name in zip(kinds, NAMES, strict=False)]
    for host in hosts:
        if draw(st.integers(0, 5)):
            host["metadata"]["labels"] = {**host["metadata"]["labels"], HOST: host["metadata"]["name"]}
    return Cluster(
        nodes=hosts,
        bound=draw(st.lists(places, max_size=12)),
        pod=wanted,
        namespaces=draw(st.sampled_from([{}, {"red": {"team": "a"}}, {"blue": {"team": "a"}}])),
    )


def named(kind: Manifest, name: str) -> Manifest:
    return kind | {"metadata": kind["metadata"] | {"name": name}}
