"""The reference model agrees with the documented behaviour: worked examples, texts, whole scenarios."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from reference.amounts import offered, quantity, requested, requested_when_scored
from reference.cycle import SKIPPED, WAITING, Said
from reference.filters import Host, refuse
from reference.forest import minimum_of
from reference.model import INITIALLY, SILENCE, Condition, Model, OutOfScope, rfc3339
from reference.scores import (
    balance,
    balanced_allocation,
    image_locality,
    least_allocated,
    node_affinity,
    taint_toleration,
    totals,
)
from reference.tree import SUCCESS, UNSCHEDULABLE, WAIT, feasibility
from reference.trials import is_deleting
from reference.waiting import SECOND, backoff_us, due_us

Manifest = dict[str, Any]

TESTS = Path(__file__).parents[1]
GROUPS = ("PodGroup", "CompositePodGroup")
NEVER = 10**18
TELLING = ("PodScheduled", *INITIALLY.values())


# ---- manifests


def node(name: str, **allocatable: str) -> Manifest:
    amounts = {key.replace("gpu", "nvidia.com/gpu"): value for key, value in allocatable.items()}
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name}}
    return {"kind": "Node", "metadata": metadata, "status": {"allocatable": {"pods": "110", **amounts}}}


def pod(name: str, *, group: str | None = None, requests: Manifest | None = None, **spec: Any) -> Manifest:
    container = {"name": "main", "image": "app", "resources": {"requests": requests or {"cpu": "1"}}}
    membership = {"schedulingGroup": {"podGroupName": group}} if group else {}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"containers": [container], **membership, **spec},
    }


def gang(name: str, min_count: int, **spec: Any) -> Manifest:
    policy = {"gang": {"minCount": min_count}}
    return {
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": policy, **spec},
    }


def basic(name: str) -> Manifest:
    return {
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": {"basic": {}}},
    }


def members(group: str, count: int, **spec: Any) -> list[Manifest]:
    return [pod(f"{group}-{index}", group=group, **spec) for index in range(count)]


def deleting(manifest: Manifest) -> Manifest:
    metadata = {**manifest["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    return {**manifest, "metadata": metadata}


def model_of(*manifests: Manifest) -> Model:
    model = Model()
    for manifest in manifests:
        model.add(manifest)
    return model


def text_of(model: Model, name: str, kind: str = "Pod") -> str | None:
    condition = "PodScheduled" if kind == "Pod" else "PodGroupInitiallyScheduled"
    found = model.condition(kind, f"default/{name}", condition)
    assert found is not None
    return found.message


# ---- whole scenarios


class Scenario:
    """Plays the API server and the kubelet around the model: defaults, grace periods, protection."""

    def __init__(self) -> None:
        self.model = Model()
        self.classes: dict[str, Manifest] = {}
        self.grace_ends: dict[str, int] = {}
        self.seen: set[str] = set()
        self.applied = 0

    def run(self, steps: list[Manifest]) -> None:
        for step in steps:
            ((action, argument),) = step.items()
            getattr(self, action)(argument)

    def apply(self, manifests: list[Manifest]) -> None:
        for manifest in manifests:
            self.applied += 1
            kind, metadata = manifest["kind"], manifest["metadata"]
            if kind == "PriorityClass":
                self.classes[metadata["name"]] = manifest
            elif kind == "Node":
                self._write(manifest, metadata["name"] in self.model.nodes)
            elif kind in ("Pod", *GROUPS):
                self._apply_namespaced(manifest)
            else:
                self._write(manifest, exists=False)
        self._react()

    def _apply_namespaced(self, manifest: Manifest) -> None:
        kind = manifest["kind"]
        metadata = {
            "namespace": "default",
            "uid": f"uid-{self.applied:04}",
            "creationTimestamp": rfc3339(self.model.now),
            **manifest["metadata"],
        }
        key = f"{metadata['namespace']}/{metadata['name']}"
        self.seen |= {key} if kind == "Pod" else set()
        stored = self._stored(kind, key)
        if stored is not None:
            held = manifest["metadata"].get("finalizers", [])
            metadata = {**metadata, **stored["metadata"], "finalizers": held}
            if self.grace_ends.get(key) == NEVER and not held:
                self.grace_ends[key] = self.model.now
            manifest = {"status": stored.get("status", {}), **manifest}
        priority_class = self.classes.get(manifest["spec"].get("priorityClassName", ""), {})
        defaults = {
            "priority": priority_class.get("value", 0),
            "preemptionPolicy": priority_class.get("preemptionPolicy", "PreemptLowerPriority"),
        }
        complete = {**manifest, "metadata": metadata, "spec": {**defaults, **manifest["spec"]}}
        self._write(complete, stored is not None)

    def _stored(self, kind: str, key: str) -> Manifest | None:
        known: dict[str, dict[str, Any]] = {
            "Pod": self.model.pods,
            "PodGroup": self.model.groups,
            "CompositePodGroup": self.model.composites,
        }
        found = known[kind].get(key)
        return None if found is None else found.manifest

    def _write(self, manifest: Manifest, exists: bool) -> None:
        (self.model.update if exists else self.model.add)(manifest)

    def delete(self, subjects: list[str]) -> None:
        """Delete, and wait until the pods are gone, as `kubectl delete` does."""
        for subject in subjects:
            kind, *names = subject.split("/")
            if kind == "Node":
                self.model.delete(kind, names[0])
                continue
            key = "/".join(names if len(names) == 2 else ["default", *names])
            stored = self._stored(kind, key)
            assert stored is not None
            self.model.update(deleting(stored))
        self._wait_until(max([self.model.now, *(end for end in self._ends().values() if end != NEVER)]))

    def _ends(self) -> dict[str, int]:
        """When the grace of each pod that is being deleted is over, whoever deleted it."""
        for key, found in self.model.pods.items():
            if is_deleting(found.manifest) and key not in self.grace_ends:
                grace = found.manifest["spec"].get("terminationGracePeriodSeconds", 30) if found.node else 0
                self.grace_ends[key] = self.model.now + grace * SECOND
        return self.grace_ends

    def settle(self, _: Manifest) -> None:
        while True:
            self._react()
            ahead = [end for end in self._ends().values() if end != NEVER]
            if (due := self.model.next_due()) is not None:
                ahead.append(due)
            if not ahead:
                break
            self.model.advance(min(ahead))
        if self.model.incomplete:
            self.model.advance(max(self.model.incomplete.values()) + SILENCE)

    def advance(self, duration: str) -> None:
        seconds = int(duration[:-1]) * {"s": 1, "m": 60, "h": 3600}[duration[-1]]
        self._wait_until(self.model.now + seconds * SECOND)

    def _wait_until(self, until: int) -> None:
        self._react()
        while (step := min([until, *self._ends().values()])) < until:
            self.model.advance(step)
            self._react()
        self.model.advance(until)
        self._react()

    def _react(self) -> None:
        """End what is due to end, release groups that nobody needs any more, try what can be tried."""
        for key, end in list(self._ends().items()):
            if end <= self.model.now:
                self._end(key)
        needed = {pod.group for pod in self.model.pods.values() if not pod.is_terminal}
        for key, group in list(self.model.groups.items()):
            if is_deleting(group.manifest) and key not in needed:
                self.model.delete("PodGroup", key)
        self.model.advance(self.model.now)

    def _end(self, key: str) -> None:
        """The pod is gone, or stays while somebody holds it: then it has failed, unless it was killed."""
        manifest = self.model.pods[key].manifest
        if not manifest["metadata"].get("finalizers"):
            self.model.delete("Pod", key)
            del self.grace_ends[key]
            return
        if manifest["spec"].get("terminationGracePeriodSeconds", 30):
            self.model.update({**manifest, "status": {**manifest.get("status", {}), "phase": "Failed"}})
        self.grace_ends[key] = NEVER

    def expect(self, expected: Manifest) -> None:
        if "queue" not in expected:
            self.settle({})
        for check, argument in expected.items():
            getattr(self, f"_expect_{check}")(argument)

    def _node(self, name: str) -> str | None:
        found = self.model.pod(f"default/{name}")
        return found.node if found else None

    def _is_unschedulable(self, name: str) -> bool:
        found = self.model.pod(f"default/{name}")
        tried = found is not None and found.attempts > 0 and found.node is None
        return tried and not self._is_gated(name)

    def _is_gated(self, name: str) -> bool:
        found = self.model.pod(f"default/{name}")
        if found is None or found.node is not None:
            return False
        return self.model.lane(self.model.entity_of(found)) == "gated"

    def _expect_scheduled(self, names: list[str]) -> None:
        assert [name for name in names if self._node(name) is None] == []

    def _expect_gated(self, names: list[str]) -> None:
        assert [name for name in names if not self._is_gated(name)] == []

    def _expect_unschedulable(self, names: list[str]) -> None:
        assert [name for name in names if not self._is_unschedulable(name)] == []

    def _expect_removed(self, names: list[str]) -> None:
        keys = {f"default/{name}" for name in names}
        assert keys <= self.seen
        assert not keys & self.model.pods.keys()

    def _expect_count(self, rows: list[Manifest]) -> None:
        for row in rows:
            bound = sum(self._node(name) is not None for name in row["pods"])
            refused = sum(self._is_unschedulable(name) for name in row["pods"])
            assert bound == row.get("scheduled", bound), row
            assert refused == row.get("unschedulable", refused), row

    def _expect_nodes(self, wanted: dict[str, str | list[str]]) -> None:
        for name, nodes in wanted.items():
            assert self._node(name) in ([nodes] if isinstance(nodes, str) else nodes), name

    def _expect_sameDomain(self, rows: list[Manifest]) -> None:  # noqa: N802
        for row in rows:
            nodes = [self.model.nodes[str(self._node(name))] for name in row["pods"]]
            assert len({each["metadata"]["labels"][row["key"]] for each in nodes}) == 1, row

    def _expect_queue(self, subjects: list[str]) -> None:
        wanted = [subject.replace("/", "/default/") for subject in subjects]
        assert self.model.active() == wanted

    def _expect_conditions(self, rows: list[Manifest]) -> None:
        for row in rows:
            found = self.model.condition(row["kind"], f"default/{row['name']}", row["type"])
            assert found is not None, row
            got = {"status": found.status, "reason": found.reason, "message": found.message}
            assert got == {**got, **{key: row[key] for key in got if key in row}}

    def _expect_explain(self, rows: list[Manifest]) -> None:
        for row in rows:
            key = f"default/{row['name']}"
            conditions = [self.model.condition(row["kind"], key, type_) for type_ in TELLING]
            conditions += [
                condition
                for found in self.model.pods.values()
                if found.group == key and row["kind"] == "PodGroup"
                for condition in found.conditions.values()
            ]
            texts = [condition.message or "" for condition in conditions if condition is not None]
            assert any(row["contains"] in text for text in texts), texts


def scenarios() -> list[Any]:
    """All that an API server would not refuse."""
    rows = []
    for path in sorted([*(TESTS / "cases").glob("*.yaml"), *(TESTS / "conformance").glob("*/*.yaml")]):
        steps = yaml.safe_load(path.read_text())["steps"]
        if not any("refuse" in step for step in steps):
            rows.append(pytest.param(steps, id=f"{path.parent.name}/{path.stem}"))
    return rows


@pytest.mark.parametrize("steps", scenarios())
def test_the_scenario_ends_as_in_kubernetes(steps: list[Manifest]) -> None:
    Scenario().run(steps)


def test_most_scenarios_are_run() -> None:
    assert len(scenarios()) >= 160


# ---- amounts


@pytest.mark.parametrize(
    ("written", "value"),
    [
        pytest.param("100m", "1/10", id="milli"),
        pytest.param("1.5", "3/2", id="decimal"),
        pytest.param("1e3", "1000", id="exponent"),
        pytest.param("5e-1", "1/2", id="negative exponent"),
        pytest.param("4Gi", str(4 * 2**30), id="binary"),
        pytest.param("0.5Gi", str(2**29), id="part of a binary unit"),
        pytest.param("1E", str(10**18), id="exa, no exponent"),
        pytest.param("9223372036854775807", str(2**63 - 1), id="largest"),
        pytest.param(0.5, "1/2", id="number"),
        pytest.param(110, "110", id="whole number"),
    ],
)
def test_quantity(written: str | float, value: str) -> None:
    assert str(quantity(written)) == value


def container(cpu: str, **more: Any) -> Manifest:
    return {"resources": {"requests": {"cpu": cpu}}, **more}


SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"initContainers": [container("4"), container("1", **SIDECAR)], "containers": [container("2")]},
            {"cpu": 4000},
            id="init before sidecar",
        ),
        pytest.param(
            {"initContainers": [container("1", **SIDECAR), container("4")], "containers": [container("2")]},
            {"cpu": 5000},
            id="sidecar before init",
        ),
        pytest.param(
            {"containers": [container("1")], "overhead": {"cpu": "250m", "memory": "1Ki"}},
            {"cpu": 1250, "memory": 1024},
            id="overhead",
        ),
        pytest.param(
            {"containers": [container("1")], "resources": {"requests": {"cpu": "3"}}},
            {"cpu": 3000},
            id="pod level",
        ),
        pytest.param(
            {"containers": [{"resources": {"limits": {"cpu": "2", "nvidia.com/gpu": 1}}}]},
            {"cpu": 2000, "nvidia.com/gpu": 1},
            id="limit without request",
        ),
        pytest.param({"containers": [container("100.5m")]}, {"cpu": 101}, id="rounded up"),
        pytest.param({"containers": [container("0")]}, {}, id="nothing"),
    ],
)
def test_requests(spec: Manifest, expected: dict[str, int]) -> None:
    assert requested({"spec": spec}) == expected


def test_a_container_that_does_not_say_counts_when_scored() -> None:
    silent = {"spec": {"containers": [{}, container("0")]}}

    assert requested_when_scored(silent) == {"cpu": 100, "memory": 2 * 209_715_200}
    assert offered(node("n", cpu="4", memory="1Gi"))["cpu"] == 4000


# ---- backoff


@pytest.mark.parametrize(
    ("queued", "seconds"),
    [
        pytest.param(1, [1, 2, 4, 8, 10, 10], id="one pod"),
        pytest.param(4, [1, 2, 4, 8, 16, 20, 20], id="four"),
        pytest.param(9, [1, 2, 4, 8, 16, 30], id="nine"),
        pytest.param(100, [1, 2, 4, 8, 16, 32, 64, 100], id="a hundred"),
    ],
)
def test_backoff(queued: int, seconds: list[int]) -> None:
    assert [backoff_us(count, queued) for count in range(1, len(seconds) + 1)] == [
        second * SECOND for second in seconds
    ]


@pytest.mark.parametrize(
    ("failed_at", "due"),
    [
        pytest.param(10_400_000, 12 * SECOND, id="within a second"),
        pytest.param(10 * SECOND, 12 * SECOND, id="on the second: equality still backs off"),
    ],
)
def test_a_first_failure_is_due_on_a_whole_second(failed_at: int, due: int) -> None:
    assert due_us(failed_at, 1, 1) == due


# ---- filters and scores


@pytest.mark.parametrize(
    ("term", "passes"),
    [
        pytest.param({"key": "zone", "operator": "In", "values": ["a", "b"]}, True, id="In"),
        pytest.param({"key": "zone", "operator": "NotIn", "values": ["a"]}, False, id="NotIn"),
        pytest.param({"key": "none", "operator": "NotIn", "values": ["a"]}, True, id="NotIn, no label"),
        pytest.param({"key": "zone", "operator": "Exists"}, True, id="Exists"),
        pytest.param({"key": "zone", "operator": "DoesNotExist"}, False, id="DoesNotExist"),
        pytest.param({"key": "cores", "operator": "Gt", "values": ["7"]}, True, id="Gt"),
        pytest.param({"key": "cores", "operator": "Lt", "values": ["8"]}, False, id="Lt"),
        pytest.param({"key": "zone", "operator": "Gt", "values": ["7"]}, False, id="Gt, no number"),
    ],
)
def test_required_node_affinity(term: Manifest, passes: bool) -> None:
    host = Host({"metadata": {"name": "n", "labels": {"zone": "a", "cores": "8"}}})
    host.node["status"] = {"allocatable": {"cpu": "1", "pods": 1}}

    assert (refuse(pod("p", affinity=required({"matchExpressions": [term]})), host) is None) == passes


def required(*terms: Manifest) -> Manifest:
    return {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [*terms]}}
    }


def named(*names: str) -> Manifest:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]}


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        pytest.param({"key": "k", "operator": "Exists"}, True, id="any value"),
        pytest.param({"operator": "Exists"}, True, id="anything"),
        pytest.param({"key": "k", "value": "v"}, True, id="Equal is the default"),
        pytest.param({"key": "k", "value": "w"}, False, id="other value"),
        pytest.param({"key": "k", "value": "v", "effect": "NoExecute"}, False, id="other effect"),
        pytest.param({"value": "v"}, False, id="no key without Exists"),
    ],
)
def test_tolerations(toleration: Manifest, tolerated: bool) -> None:
    host = Host(node("n", cpu="1"))
    host.node["spec"] = {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}

    assert (refuse(pod("p", tolerations=[toleration]), host) is None) == tolerated


@pytest.mark.parametrize(
    ("theirs", "fits"),
    [
        pytest.param({"hostPort": 80}, False, id="same port"),
        pytest.param({"hostPort": 80, "protocol": "UDP"}, True, id="other protocol"),
        pytest.param({"hostPort": 80, "hostIP": "10.0.0.1"}, False, id="any address against one"),
        pytest.param({"hostPort": 81}, True, id="other port"),
    ],
)
def test_host_ports(theirs: Manifest, fits: bool) -> None:
    def with_port(name: str, port: Manifest) -> Manifest:
        manifest = pod(name)
        manifest["spec"]["containers"][0]["ports"] = [{"containerPort": 80, **port}]
        return manifest

    host = Host(node("n", cpu="4"), [with_port("a", theirs)])

    assert (refuse(with_port("b", {"hostPort": 80}), host) is None) == fits


def test_scores_of_the_worked_example() -> None:
    wanting = pod("p", requests={"cpu": "1", "memory": "1Gi"})
    n1 = Host(node("n1", cpu="4", memory="16Gi"), [pod("a", requests={"cpu": "1", "memory": "2Gi"})])
    n2 = Host(node("n2", cpu="8", memory="16Gi"), [pod("b", requests={"cpu": "4", "memory": "4Gi"})])

    assert least_allocated(wanting, [n1, n2]) == [65, 52]
    assert [balance(host.node, [*host.pods, wanting]) for host in (n1, n2)] == [84, 84]
    assert [balance(host.node, host.pods) for host in (n1, n2)] == [93, 87]
    assert balanced_allocation(wanting, [n1, n2]) == [70, 73]
    assert taint_toleration(wanting, [n1, n2]) == [100, 100]
    assert totals(wanting, [n1, n2], [n1, n2]) == [435, 425]


def test_scores_are_normalised_over_the_feasible_nodes() -> None:
    hosts = [Host(node(name, cpu="4")) for name in ("n1", "n2", "n3")]
    hosts[1].node["spec"] = {"taints": [{"key": "k", "effect": "PreferNoSchedule"}]}
    hosts[2].node["spec"] = {"taints": [{"key": key, "effect": "PreferNoSchedule"} for key in "kl"]}
    wishes = [
        {"weight": weight, "preference": {"matchFields": named(name)["matchFields"]}}
        for weight, name in ((30, "n1"), (10, "n3"))
    ]
    wanting = pod("p")
    wanting["spec"]["affinity"] = {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": wishes}
    }

    assert taint_toleration(wanting, hosts) == [100, 50, 0]
    assert node_affinity(wanting, hosts) == [100, 0, 33]


def test_an_image_counts_by_its_size_and_spread() -> None:
    hosts = [Host(node("n1", cpu="4")), Host(node("n2", cpu="4"))]
    hosts[0].node["status"]["images"] = [{"names": ["app:latest"], "sizeBytes": 1023 * 2**20}]

    assert image_locality(pod("p"), hosts, hosts) == [100 * (1023 // 2 * 2 + 1 - 46) // (2 * 977), 0]


def test_equal_nodes_are_taken_by_name() -> None:
    trials = model_of(node("n2", cpu="2"), node("n1", cpu="2")).place([pod("a"), pod("b"), pod("c")])

    assert [trial.node for trial in trials] == ["n1", "n2", "n1"]


# ---- texts of refusals


def flawed_nodes() -> list[Manifest]:
    """Six nodes with one flaw each: small, tainted, cordoned, no slot, little memory, and a label only."""
    nodes = [node(f"n{number}", cpu="1", memory="8Gi") for number in range(1, 7)]
    nodes[1]["spec"] = {"taints": [{"key": "k", "effect": "NoSchedule"}]}
    nodes[2]["spec"] = {"unschedulable": True}
    nodes[3]["status"]["allocatable"]["pods"] = "0"
    nodes[4]["status"]["allocatable"]["memory"] = "1Mi"
    return nodes


@pytest.mark.parametrize(
    ("nodes", "wanting", "text"),
    [
        pytest.param(
            [node("n1", cpu="1"), node("n2", cpu="1"), node("n3", cpu="1")],
            [pod("p", requests={"cpu": "1", "nvidia.com/gpu": "1"})],
            "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: 0/3 nodes are available: "
            "3 Preemption is not helpful for scheduling.",
            id="more than a whole node",
        ),
        pytest.param(
            flawed_nodes(),
            [pod("p", requests={"cpu": "99", "memory": "2Mi"})],
            "0/6 nodes are available: 1 Insufficient memory, 1 Too many pods, 1 node(s) had untolerated "
            "taint(s), 1 node(s) were unschedulable, 4 Insufficient cpu. preemption: 0/6 nodes are "
            "available: 6 Preemption is not helpful for scheduling.",
            id="one flaw each",
        ),
        pytest.param(
            [node("n1", cpu="1")],
            [pod("p", affinity=required(named("n9")))],
            "0/1 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity]. preemption: "
            "0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
            id="named node missing",
        ),
        pytest.param(
            [node("n1", cpu="1"), node("n2", cpu="1")],
            [pod("p", affinity=required(named("n1", "n2")))],
            "0/2 nodes are available: pod affinity terms conflict. preemption: 0/2 nodes are available: "
            "2 Preemption is not helpful for scheduling.",
            id="names that contradict each other",
        ),
        pytest.param(
            [node("n1", cpu="1")],
            [pod("p", nodeSelector={"disk": "ssd"}, preemptionPolicy="Never")],
            "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. "
            "preemption: not eligible due to preemptionPolicy=Never.",
            id="never preempts",
        ),
        pytest.param(
            [node("n1", cpu="1", gpu="1")],
            [
                pod("tenant", requests={"nvidia.com/gpu": "1"}, nodeName="n1"),
                pod("p", requests={"cpu": "2", "nvidia.com/gpu": "1"}),
            ],
            "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient nvidia.com/gpu. preemption: "
            "0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
            id="one of two shortages is hopeless",
        ),
        pytest.param([], [pod("p")], "no nodes available to schedule pods", id="no nodes at all"),
    ],
)
def test_text_of_a_refused_pod(nodes: list[Manifest], wanting: list[Manifest], text: str) -> None:
    model = model_of(*nodes, *wanting)
    model.settle()

    assert model.condition("Pod", "default/p", "PodScheduled") == Condition("False", "Unschedulable", text)


def test_a_pod_without_room_names_what_preemption_finds() -> None:
    cordoned = node("n2", cpu="4")
    cordoned["spec"] = {"unschedulable": True}
    model = model_of(node("n1", cpu="1"), cordoned, pod("tenant", nodeName="n1"), pod("p"))
    model.settle()

    assert text_of(model, "p") == (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable. preemption: "
        "0/2 nodes are available: 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )


def test_counts_are_sorted_as_strings() -> None:
    nodes = [node(f"n{number}", cpu="1") for number in range(12)]
    for cordoned in nodes[:2]:
        cordoned["spec"] = {"unschedulable": True}
    model = model_of(*nodes)

    assert model.place([pod("p", requests={"cpu": "2"})])[0].text == (
        "0/12 nodes are available: 10 Insufficient cpu, 2 node(s) were unschedulable."
    )


# ---- the group's cycle

NO_VICTIMS = ", pod group preemption: No preemption victims found for incoming preemptor"


@pytest.mark.parametrize(
    ("minimum", "scheduled", "remaining", "kind", "text"),
    [
        pytest.param(3, 3, 0, SUCCESS, "", id="exactly minCount"),
        pytest.param(
            3, 0, 5, WAIT, "minCount (3) is not yet satisfied: 0 scheduled, 5 remaining", id="early"
        ),
        pytest.param(
            3, 2, 0, UNSCHEDULABLE, "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining", id="short"
        ),
        pytest.param(2, 4, 0, SUCCESS, "", id="beyond"),
    ],
)
def test_feasibility(minimum: int, scheduled: int, remaining: int, kind: str, text: str) -> None:
    status = feasibility(minimum, scheduled, remaining)

    assert (status.kind, status.message) == (kind, text)


def test_five_members_of_which_three_are_needed() -> None:
    model = model_of(node("n1", cpu="4"), node("n2", cpu="1"), gang("web", 3), *members("web", 5))
    model.settle()

    assert sorted(model.bindings().values()) == ["n1"] * 4 + ["n2"]
    assert model.condition("PodGroup", "default/web", "PodGroupInitiallyScheduled") == Condition(
        "True", "Scheduled", ""
    )


def test_what_does_not_fit_beyond_the_minimum_comes_back_at_once_and_then_waits() -> None:
    model = model_of(node("n1", cpu="4"), gang("web", 3), *members("web", 5))

    first = model.attempt_once()
    assert first is not None
    assert list(first.outcome.bound) == [f"default/web-{index}" for index in range(4)]
    assert text_of(model, "web-4") == "0/1 nodes are available: 1 Insufficient cpu."
    assert model.active() == ["PodGroup/default/web"]

    second = model.attempt_once()
    assert second is not None
    text = "pod group is unschedulable" + NO_VICTIMS
    assert second.outcome.groups == {"PodGroup/default/web": Said(UNSCHEDULABLE, text)}
    assert model.lane("PodGroup/default/web") == "backoff"
    assert text_of(model, "web", "PodGroup") == ""  # the condition stays True

    model.add(node("n2", cpu="1"))
    assert model.attempt_once() is None
    assert model.could_act("PodGroup/default/web")
    model.now = model.due("PodGroup/default/web")
    assert model.active() == ["PodGroup/default/web"]
    model.settle()
    assert model.bindings()["default/web-4"] == "n2"


GPU = {"cpu": "100m", "nvidia.com/gpu": "1"}


@pytest.mark.parametrize(
    ("min_count", "count", "group_text", "untried"),
    [
        pytest.param(3, 3, "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining", [], id="3 of 3"),
        pytest.param(3, 4, "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining", [], id="3 of 4"),
        pytest.param(4, 4, "minCount (4) cannot be satisfied: 2 scheduled, 1 remaining", [3], id="4 of 4"),
    ],
)
def test_all_texts_of_one_refusal(min_count: int, count: int, group_text: str, untried: list[int]) -> None:
    nodes = [node(name, cpu="8", gpu="1") for name in ("n1", "n2")]
    model = model_of(*nodes, gang("llm", min_count), *members("llm", count, requests=GPU))
    model.settle()

    assert text_of(model, "llm", "PodGroup") == group_text + NO_VICTIMS
    fitting = "pod group is unschedulable, " + group_text + NO_VICTIMS
    misfit = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    expected = {0: fitting, 1: fitting, 2: misfit, 3: misfit, **dict.fromkeys(untried, group_text)}
    for index in range(count):
        assert text_of(model, f"llm-{index}") == expected[index]
    assert model.bindings() == {}


def test_a_basic_group_of_which_nothing_fits() -> None:
    model = model_of(node("n1", cpu="1"), basic("b"), *members("b", 2, requests={"cpu": "2"}))
    model.settle()

    assert text_of(model, "b", "PodGroup") == (
        "minCount (1) cannot be satisfied: 0 scheduled, 0 remaining" + NO_VICTIMS
    )
    assert text_of(model, "b-1") == "0/1 nodes are available: 1 Insufficient cpu."


def test_a_gang_without_any_node() -> None:
    model = model_of(gang("g", 2), *members("g", 2))
    model.settle()

    refusal = "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining"
    assert text_of(model, "g", "PodGroup") == refusal + NO_VICTIMS
    assert text_of(model, "g-0") == "no nodes available to schedule pods"
    assert text_of(model, "g-1") == refusal


def test_a_dying_member_counts_as_created_and_is_skipped() -> None:
    live, dying = members("g", 2)
    model = model_of(node("n1", cpu="4"), gang("g", 2), live, deleting(dying))
    assert model.created("default/g") == 2

    attempt = model.attempt_once()
    assert attempt is not None
    assert attempt.outcome.skipped == ["default/g-1"]
    refusal = "pod group is unschedulable, minCount (2) cannot be satisfied: 0 scheduled, 1 remaining"
    assert text_of(model, "g", "PodGroup") == refusal + NO_VICTIMS
    assert text_of(model, "g-0") == refusal
    assert model.condition("Pod", "default/g-1", "PodScheduled") is None


def test_a_cycle_without_anybody_left_says_nothing() -> None:
    model = model_of(node("n1", cpu="4"), gang("g", 1), deleting(members("g", 1)[0]))

    attempt = model.attempt_once()
    assert attempt is not None
    assert attempt.outcome.verdict == SKIPPED
    assert model.lane("PodGroup/default/g") is None
    assert model.condition("PodGroup", "default/g", "PodGroupInitiallyScheduled") is None


SAME = "all pods in a single pod group should have the same"


@pytest.mark.parametrize(
    ("odd", "text"),
    [
        pytest.param(
            {"priority": 7},
            f"{SAME} priority as the pod group's priority, got 7 and 0",
            id="priority",
        ),
        pytest.param(
            {"preemptionPolicy": "Never"},
            f"{SAME} preemption policy as the pod group's preemption policy, "
            "got Never and PreemptLowerPriority",
            id="preemption policy",
        ),
        pytest.param(
            {"priority": 7, "nodeName": "n1"},
            f"{SAME} priority as the pod group's priority, got 7 and 0",
            id="priority of a running member",
        ),
        pytest.param(
            {"schedulerName": "other-scheduler", "nodeName": "n1"},
            f'{SAME} .spec.schedulerName set, got: "other-scheduler" and "default-scheduler"',
            id="scheduler of a running member",
        ),
    ],
)
def test_one_odd_member_fails_all(odd: Manifest, text: str) -> None:
    model = model_of(node("n1", cpu="8"), gang("g", 2), *members("g", 2), pod("odd", group="g", **odd))
    model.settle()

    expected = Condition("False", "SchedulerError", text)
    assert model.condition("PodGroup", "default/g", "PodGroupInitiallyScheduled") == expected
    assert model.condition("Pod", "default/g-0", "PodScheduled") == expected
    assert not model.could_act("PodGroup/default/g")


def test_an_error_backs_off_by_the_count_of_errors() -> None:
    model = model_of(node("n1", cpu="1"), gang("g", 2), *members("g", 2))
    for _ in range(3):
        model.attempt("PodGroup/default/g")
    assert model.due("PodGroup/default/g") == 5 * SECOND
    model.add(pod("odd", group="g", priority=7))
    model.attempt("PodGroup/default/g")

    assert model.due("PodGroup/default/g") == 2 * SECOND


def test_the_condition_never_goes_back() -> None:
    model = model_of(node("n1", cpu="2"), gang("g", 2), *members("g", 2))
    model.settle()
    model.delete("Pod", "default/g-1")
    model.add(pod("other"))
    model.settle()
    model.add(pod("again", group="g"))
    model.settle()

    assert text_of(model, "again") == "0/1 nodes are available: 1 Insufficient cpu."
    found = model.condition("PodGroup", "default/g", "PodGroupInitiallyScheduled")
    assert found == Condition("True", "Scheduled", "")


def test_members_that_failed_before_go_before_new_ones() -> None:
    model = model_of(node("n1", cpu="1"), basic("g"), pod("z", group="g", requests={"cpu": "2"}))
    model.settle()
    model.add(pod("a", group="g", requests={"cpu": "2"}))

    assert [found.manifest["metadata"]["name"] for found in model.queued("PodGroup/default/g")] == ["z", "a"]


def test_a_victim_keeps_its_room_until_it_has_ended() -> None:
    low = pod("low", nodeName="n1")
    model = model_of(node("n1", cpu="1"), low, gang("g", 1, priority=5), *members("g", 1, priority=5))

    attempt = model.attempt_once()
    assert attempt is not None
    assert (attempt.outcome.verdict, attempt.outcome.victims) == (WAITING, ["default/low"])
    refusal = "minCount (1) cannot be satisfied: 0 scheduled, 0 remaining, pod group preemption: "
    assert text_of(model, "g", "PodGroup") == f"{refusal}found a placement for podgroup, preempting 1 victims"
    assert text_of(model, "g-0") == "0/1 nodes are available: 1 Insufficient cpu."
    assert model.pods["default/g-0"].hope == "n1"
    assert is_deleting(model.pods["default/low"].manifest)

    model.attempt("PodGroup/default/g")
    assert text_of(model, "g", "PodGroup") == f"{refusal}ongoing preemption on nominated nodes"
    model.delete("Pod", "default/low")
    model.settle()
    assert model.bindings() == {"default/g-0": "n1"}


# ---- the queue


@pytest.mark.parametrize(
    ("waiting", "gate"),
    [
        pytest.param(
            [gang("g", 1), pod("p", group="g", schedulingGates=[{"name": "a"}, {"name": "b"}])],
            "waiting for scheduling gates: [a b]",
            id="scheduling gates",
        ),
        pytest.param(
            [pod("p", group="g")],
            'waiting for pods\'s pod group "g" to appear in scheduling queue',
            id="no group",
        ),
        pytest.param(
            [gang("g", 2), pod("p", group="g")],
            "waiting for minCount pods from a gang to appear in scheduling queue",
            id="below minCount",
        ),
        pytest.param([basic("g"), pod("p", group="g")], None, id="basic"),
        pytest.param(
            [gang("g", 2), pod("p", group="g"), pod("q", group="g", schedulerName="other")],
            "waiting for minCount pods from a gang to appear in scheduling queue",
            id="a waiting pod of another scheduler does not count",
        ),
    ],
)
def test_gates(waiting: list[Manifest], gate: str | None) -> None:
    model = model_of(*waiting)

    assert model.gate("PodGroup/default/g") == gate
    assert model.lane("PodGroup/default/g") == ("active" if gate is None else "gated")


def succeeded(manifest: Manifest) -> Manifest:
    return {**manifest, "status": {"phase": "Succeeded"}}


@pytest.mark.parametrize(
    ("member", "created", "scheduled"),
    [
        pytest.param(pod("p", group="g"), 1, 0, id="waiting"),
        pytest.param(pod("p", group="g", schedulingGates=[{"name": "a"}]), 1, 0, id="with gates"),
        pytest.param(deleting(pod("p", group="g")), 1, 0, id="waiting and dying"),
        pytest.param(pod("p", group="g", nodeName="n1"), 1, 1, id="bound"),
        pytest.param(deleting(pod("p", group="g", nodeName="n1")), 1, 1, id="bound and dying"),
        pytest.param(succeeded(pod("p", group="g", nodeName="n1")), 0, 0, id="finished"),
        pytest.param(succeeded(pod("p", group="g")), 0, 0, id="finished without a node"),
        pytest.param(pod("p", group="g", schedulerName="other"), 0, 0, id="waiting for another scheduler"),
    ],
)
def test_who_counts_as_a_member(member: Manifest, created: int, scheduled: int) -> None:
    model = model_of(gang("g", 3), member)

    assert (model.created("default/g"), len(model.scheduled("default/g"))) == (created, scheduled)


def test_order_of_the_active_lane() -> None:
    model = model_of(pod("early"), pod("first-of-g", group="g"), pod("late"), gang("g", 1))
    model.now = SECOND
    model.add(pod("newer"))
    model.add(pod("important", priority=9))

    assert model.active() == [
        "Pod/default/important",
        "Pod/default/early",
        "PodGroup/default/g",
        "Pod/default/late",
        "Pod/default/newer",
    ]


def test_a_failed_attempt_puts_an_entity_behind_those_that_failed_before() -> None:
    model = model_of(pod("a"))
    model.settle()
    model.now = SECOND
    model.add(pod("b"))
    model.settle()
    model.now = 5 * SECOND
    model.attempt("Pod/default/a")

    model.now = 20 * SECOND
    model.add(node("n1", cpu="1"))
    assert model.active() == ["Pod/default/b", "Pod/default/a"]


def test_a_single_pod_leaves_its_backoff_early_and_a_group_does_not() -> None:
    model = model_of(gang("g", 1, priority=5, preemptionPolicy="Never"), pod("p"))
    model.add(pod("m", group="g", priority=5, preemptionPolicy="Never"))
    model.settle()
    assert model.lane("Pod/default/p") == "unschedulable"
    assert model.lane("PodGroup/default/g") == "backoff"

    model.add(node("n1", cpu="1"))
    assert model.lane("Pod/default/p") == "backoff"
    assert model.may_try("Pod/default/p")
    assert not model.may_try("PodGroup/default/g")
    model.settle()
    assert model.bindings() == {"default/p": "n1"}


def test_another_attempt_is_allowed_but_not_before_those_that_could_act() -> None:
    model = model_of(node("n1", cpu="1"), pod("big", requests={"cpu": "2"}))
    model.settle()
    model.now = 5 * SECOND
    assert model.may_try("Pod/default/big")

    model.add(pod("small", priority=1))
    assert not model.may_try("Pod/default/big")
    assert model.may_try("Pod/default/small")


def test_a_dying_pod_without_a_group_leaves_the_queue_untried() -> None:
    model = model_of(pod("p"))
    model.settle()
    model.update(deleting(pod("p")))
    model.add(node("n1", cpu="1"))

    assert [attempt.outcome.verdict for attempt in model.settle()] == [SKIPPED]
    assert model.lane("Pod/default/p") is None


def test_a_useless_node_changes_the_text_of_a_refusal_and_not_its_verdict() -> None:
    model = model_of(node("n1", cpu="1"), pod("p", requests={"cpu": "2"}))
    model.settle()
    assert not model.would_read_otherwise("Pod/default/p")

    model.add(node("n2", cpu="1"))
    assert model.would_read_otherwise("Pod/default/p")
    assert not model.would_end_otherwise("Pod/default/p")


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(gang("g", 1, resourceClaims=[{"name": "gpu"}]), id="claims"),
        pytest.param(pod("p", volumes=[{"name": "data"}]), id="volumes"),
    ],
)
def test_what_the_model_does_not_know_is_refused(manifest: Manifest) -> None:
    with pytest.raises(OutOfScope):
        Model().add(manifest)


# ---- for all inputs


@st.composite
def clusters(draw: st.DrawFn) -> list[Manifest]:
    nodes = [node(f"n{index}", cpu=str(draw(st.integers(1, 4)))) for index in range(draw(st.integers(0, 3)))]
    groups = [gang(f"g{index}", draw(st.integers(1, 4))) for index in range(draw(st.integers(0, 2)))]
    pods = [
        pod(
            f"p{index}",
            group=draw(st.sampled_from([None, "g0", "g1"])),
            requests={"cpu": str(draw(st.integers(1, 3)))},
        )
        for index in range(draw(st.integers(0, 8)))
    ]
    return draw(st.permutations([*nodes, *groups, *pods]))


@given(clusters(), st.lists(st.integers(1, 4), max_size=2))
def test_at_rest_nothing_could_act_and_no_gang_was_split(
    manifests: list[Manifest], new_nodes: list[int]
) -> None:
    model = model_of(*manifests)
    attempts = model.settle()
    for index, cpu in enumerate(new_nodes):
        model.add(node(f"new{index}", cpu=str(cpu)))
    attempts += model.settle()

    assert [name for name in model.entities if model.could_act(name)] == []
    for host in model.cluster():
        assert host.used().get("cpu", 0) <= offered(host.node)["cpu"]
    for attempt in attempts:
        kind, _, key = attempt.entity.partition("/")
        if kind == "PodGroup" and attempt.outcome.bound:
            assert len(model.scheduled(key)) >= minimum_of(model.groups[key].manifest)


@given(clusters(), st.data())
def test_what_falls_due_may_be_tried_also_among_useless_attempts(
    manifests: list[Manifest], data: st.DataObject
) -> None:
    model = model_of(*manifests)
    for _ in range(12):
        allowed = sorted(name for name in model.entities if model.may_try(name))
        if not allowed:
            break
        assert set(model.active()[:1]) <= set(allowed)
        model.attempt(data.draw(st.sampled_from(allowed)))
        model.now += data.draw(st.integers(0, 3 * SECOND))
    model.settle()

    assert [name for name in model.entities if model.could_act(name)] == []
