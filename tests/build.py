"""Inputs for tests: manifests that name only what a case is about, and logs folded without a store."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from domain import events as ev
from domain.envelope import canonical
from domain.explain import attempt_at, explain
from domain.explaining.findings import Recorded
from domain.explaining.question import Binding
from domain.explanation import Explanation
from domain.reducer import fold
from domain.scheduling.cycle import decide
from domain.state import State
from domain.times import SECOND

Manifest = dict[str, Any]

START = 1_767_225_600 * SECOND
"""2026-01-01T00:00:00Z, when the logs of tests begin."""

GPU = "nvidia.com/gpu"


def pod(
    name: str,
    *,
    cpu: int | str | None = None,
    memory: str | None = None,
    gpu: int | None = None,
    group: str | None = None,
    node: str | None = None,
    gates: Sequence[str] = (),
    ports: Sequence[Mapping[str, Any]] = (),
    namespace: str = "default",
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Manifest:
    """A Pod of one container. `cpu` is in millicores or a quantity; `spec` adds to its spec."""
    requests = {
        "cpu": f"{cpu}m" if isinstance(cpu, int) else cpu,
        "memory": memory,
        GPU: None if gpu is None else str(gpu),
    }
    container: Manifest = {
        "name": "main",
        "image": "app",
        "resources": {"requests": {name: amount for name, amount in requests.items() if amount is not None}},
    }
    if gpu is not None:
        container["resources"]["limits"] = {GPU: str(gpu)}
    if ports:
        container["ports"] = [dict(port) for port in ports]
    body: Manifest = {"containers": [container], **spec}
    if group is not None:
        body["schedulingGroup"] = {"podGroupName": group}
    if node is not None:
        body["nodeName"] = node
    if gates:
        body["schedulingGates"] = [{"name": gate} for gate in gates]
    metadata: Manifest = {"name": name, "namespace": namespace}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}


def node(
    name: str,
    *,
    cpu: str = "8",
    memory: str = "32Gi",
    gpu: int | None = None,
    pods: int = 110,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    unschedulable: bool = False,
) -> Manifest:
    """A Node with what it has for Pods."""
    allocatable = {"cpu": cpu, "memory": memory, "pods": str(pods)}
    if gpu is not None:
        allocatable[GPU] = str(gpu)
    spec: Manifest = {"taints": [dict(taint) for taint in taints]} if taints else {}
    if unschedulable:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": spec,
        "status": {"allocatable": allocatable},
    }


def group(name: str, min_count: int | None = None, *, namespace: str = "default", **spec: Any) -> Manifest:
    """A PodGroup: a gang of `min_count`, or with the basic policy if that is None."""
    policy: Manifest = {"basic": {}} if min_count is None else {"gang": {"minCount": min_count}}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"schedulingPolicy": policy, **spec},
    }


def composite(
    name: str, min_groups: int | None = None, *, namespace: str = "default", **spec: Any
) -> Manifest:
    """A CompositePodGroup: a gang of `min_groups`, or with the basic policy if that is None."""
    policy: Manifest = {"basic": {}} if min_groups is None else {"gang": {"minGroupCount": min_groups}}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "schedulingPolicy": policy,
            "workloadRef": {"workloadName": "job", "templateName": name},
            **spec,
        },
    }


def key_of(manifest: Manifest) -> str:
    """`namespace/name`, or `name` for a cluster-wide object."""
    metadata = manifest["metadata"]
    return "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))


def fact(manifest: Manifest, change: str = "Added") -> ev.Payload:
    """The event that `manifest` was added or replaced (`Updated`), as admission would write it."""
    stored = {
        **manifest,
        "metadata": {"uid": f"uid-of-{manifest['metadata']['name']}", **manifest["metadata"]},
    }
    fields: Manifest = {"key": key_of(manifest), "object": msgspec.Raw(canonical(stored))}
    if manifest["kind"] == "Pod":
        spec = manifest["spec"]
        name = spec.get("schedulingGroup", {}).get("podGroupName")
        fields["group"] = None if name is None else f"{manifest['metadata']['namespace']}/{name}"
        fields["node"] = spec.get("nodeName")
    payload: ev.Payload = ev.PAYLOADS[f"{manifest['kind']}{change}"](**fields)  # type: ignore[assignment]
    return payload


class Story:
    """A log in memory and the State that it folds to; `now` is the time of what is appended."""

    def __init__(self, *manifests: Manifest) -> None:
        self.events: list[ev.Event] = []
        self.state = State()
        self.now = START
        self.add(*manifests)

    def add(self, *manifests: Manifest) -> "Story":
        """Append that each of `manifests` was added."""
        return self.append(*map(fact, manifests))

    def append(self, *payloads: ev.Payload) -> "Story":
        """Append `payloads`."""
        first = self.state.position + 1
        events = [ev.Event(first + index, self.now, payload) for index, payload in enumerate(payloads)]
        self.events += events
        fold(self.state, events)
        return self

    def wait(self, seconds: int) -> "Story":
        """Let time pass."""
        self.now += seconds * SECOND
        return self

    def decide(self) -> "Story":
        """Decide everything that is due now, and append it."""
        while (decision := decide(self.state, self.now)) is not None:
            self.append(*decision.payloads)
        return self

    def why(self, subject: str) -> Explanation:
        """The explanation of `subject` (`Pod/default/a`), with what this log knows of it."""
        kind, _, key = subject.partition("/")
        position = attempt_at(self.state, kind, key)
        binding = None
        for event in self.events:
            if isinstance(event.payload, ev.PodBound) and event.payload.pod == key:
                binding = Binding(event.position, event.at, event.payload.node)
        if binding is not None:
            position = max(at for at in self._attempts() if at < binding.position)
        attempt = None if position is None else self._recorded(position)
        return explain(self.state, kind, key, now=self.now, attempt=attempt, binding=binding)

    def _attempts(self) -> list[int]:
        return [event.position for event in self.events if isinstance(event.payload, ev.GroupAttempted)]

    def _recorded(self, position: int) -> Recorded:
        attempt = self.events[position - 1].payload
        assert isinstance(attempt, ev.GroupAttempted)
        findings_position = attempt.same_as or position
        findings = self.events[findings_position - 1].payload
        assert isinstance(findings, ev.GroupAttempted)
        return Recorded(position, attempt, findings_position, findings)
