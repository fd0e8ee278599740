"""Manifests that name only what a test is about."""

from collections.abc import Mapping, Sequence
from typing import Any

Manifest = dict[str, Any]

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
    labels: Mapping[str, str] | None = None,
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
    if labels:
        metadata["labels"] = dict(labels)
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


def within(key: str) -> Manifest:
    """A topology constraint on `key`, as a field of a group's spec."""
    return {"schedulingConstraints": {"topology": [{"key": key}]}}


def leaf(
    name: str,
    min_count: int | None,
    cpus: Sequence[int],
    *,
    parent: str | None = None,
    pods: Manifest | None = None,
    **spec: Any,
) -> list[Manifest]:
    """A PodGroup with a Pod `name-0`, `name-1`, … for each number of cores in `cpus`."""
    above = {} if parent is None else _above(parent)
    return [
        group(name, min_count, **above, **spec),
        *(
            pod(f"{name}-{number}", cpu=cpu * 1000, group=name, **(pods or {}))
            for number, cpu in enumerate(cpus)
        ),
    ]


def inner(name: str, min_groups: int | None, *, parent: str, **spec: Any) -> Manifest:
    """A composite below another one."""
    return composite(name, min_groups, parentCompositePodGroupName=parent, **spec)


def _above(parent: str) -> Manifest:
    return {
        "parentCompositePodGroupName": parent,
        "workloadRef": {"workloadName": "job", "templateName": "leaf"},
    }


def priority_class(name: str, value: int, policy: str = "PreemptLowerPriority") -> Manifest:
    """A PriorityClass."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "preemptionPolicy": policy,
    }


def budget(name: str, *, namespace: str = "default", labels: Mapping[str, str], **spec: Any) -> Manifest:
    """A PodDisruptionBudget of the Pods with `labels`; `spec` has minAvailable or maxUnavailable."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"matchLabels": dict(labels)}, **spec},
    }


def configuration(**fields: Any) -> Manifest:
    """A KubeSchedulerConfiguration; what `fields` leave out has its default."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        **fields,
    }


def key_of(manifest: Manifest) -> str:
    """`namespace/name`, or `name` for a cluster-wide object."""
    metadata = manifest["metadata"]
    return "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
