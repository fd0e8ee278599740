"""Pods: their defaults and their faults.

Source: Kubernetes 1.37, pkg/apis/core/v1/defaults.go and pkg/apis/core/validation.
"""

from domain.admission import faults, meta, names, resources
from domain.admission.core import (
    Container,
    ContainerPort,
    Pod,
    PodSpec,
    PodStatus,
    ResourceRequirements,
)
from domain.admission.kinds import POD
from domain.admission.placement import affinity_faults, spread_faults
from domain.admission.taints import toleration_faults
from domain.errors import Cause
from domain.objects import PREEMPT_LOWER
from domain.profile import DEFAULT_SCHEDULER

DEFAULT_GRACE_SECONDS = 30
PREEMPTION_POLICIES = (PREEMPT_LOWER, "Never")

MAX_INT32 = 2**31 - 1

_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_MAX_PORT = 65535


def set_defaults(pod: Pod) -> None:
    """Fill in what the API server fills in before it looks at priorities."""
    spec = pod.asked
    if not spec.restart_policy:
        spec.restart_policy = "Always"
    if spec.node_name == "":
        spec.node_name = None
    if not spec.scheduler_name:
        spec.scheduler_name = DEFAULT_SCHEDULER
    if spec.termination_grace_period_seconds is None:
        spec.termination_grace_period_seconds = DEFAULT_GRACE_SECONDS
    for container in _all_containers(spec):
        _default_requests(container.resources)
        for port in container.ports or ():
            if not port.protocol:
                port.protocol = "TCP"
            if spec.host_network and port.host_port is None:
                port.host_port = port.container_port
    _default_pod_requests(spec)
    if pod.status is None:
        pod.status = PodStatus()
    if not pod.status.phase:
        pod.status.phase = "Pending"


def pod_faults(pod: Pod) -> list[Cause]:
    """Every fault of a new Pod."""
    spec = pod.asked
    found = meta.meta_faults(POD, pod.meta)
    found += _spec_faults(spec)
    if spec.node_name and spec.scheduling_gates:
        found.append(
            faults.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")
        )
    return found + _scheduling_group_faults(spec)


def _all_containers(spec: PodSpec) -> list[Container]:
    return [*(spec.init_containers or ()), *(spec.containers or ())]


def containers_with_paths(spec: PodSpec) -> list[tuple[str, Container]]:
    return [
        *((f"spec.containers[{index}]", item) for index, item in enumerate(spec.containers or ())),
        *((f"spec.initContainers[{index}]", item) for index, item in enumerate(spec.init_containers or ())),
    ]


def _default_requests(required: ResourceRequirements | None) -> None:
    """A limit without a request is a request of the same amount."""
    if required is not None and required.limits:
        required.requests = {**required.limits, **(required.requests or {})}


def _default_pod_requests(spec: PodSpec) -> None:
    """As _default_requests, for the Pod as a whole, unless its containers ask for the resource."""
    if spec.resources is None or not spec.resources.limits:
        return
    asked = {
        name
        for container in _all_containers(spec)
        if container.resources is not None
        for name in container.resources.requests or ()
    }
    defaults = {name: amount for name, amount in spec.resources.limits.items() if name not in asked}
    if defaults or spec.resources.requests:
        spec.resources.requests = {**defaults, **(spec.resources.requests or {})}


def _spec_faults(spec: PodSpec) -> list[Cause]:
    found = _containers_faults(spec)
    if spec.resources is not None:
        found += resources.pod_level_faults("spec.resources", spec.resources)
    if spec.restart_policy not in _RESTART_POLICIES:
        found.append(faults.not_supported("spec.restartPolicy", spec.restart_policy or "", _RESTART_POLICIES))
    found += names.labels("spec.nodeSelector", spec.node_selector)
    if spec.affinity is not None:
        found += affinity_faults("spec.affinity", spec.affinity)
    found += _gate_faults(spec)
    found += spread_faults("spec.topologySpreadConstraints", spec.topology_spread_constraints)
    if spec.node_name:
        found += [
            faults.invalid("spec.nodeName", spec.node_name, text) for text in names.subdomain(spec.node_name)
        ]
    deadline = spec.active_deadline_seconds
    if deadline is not None and not 1 <= deadline <= MAX_INT32:
        found.append(faults.not_between("spec.activeDeadlineSeconds", deadline, 1, MAX_INT32))
    for index, toleration in enumerate(spec.tolerations or ()):
        found += toleration_faults(f"spec.tolerations[{index}]", toleration)
    if spec.priority_class_name:
        found += [
            faults.invalid("spec.priorityClassName", spec.priority_class_name, text)
            for text in names.subdomain(spec.priority_class_name)
        ]
    if spec.preemption_policy is not None and spec.preemption_policy not in PREEMPTION_POLICIES:
        found.append(
            faults.not_supported("spec.preemptionPolicy", spec.preemption_policy, PREEMPTION_POLICIES)
        )
    if spec.overhead:
        overhead = ResourceRequirements(limits=spec.overhead)
        found += resources.requirements_faults("spec.overhead", overhead)
    return found


def _containers_faults(spec: PodSpec) -> list[Cause]:
    found: list[Cause] = []
    if not spec.containers:
        found.append(faults.required("spec.containers"))
    taken: set[str] = set()
    host_ports: set[tuple[str, str, int]] = set()
    for path, container in containers_with_paths(spec):
        found += _container_faults(path, container, taken)
        for index, port in enumerate(container.ports or ()):
            found += _port_faults(f"{path}.ports[{index}]", port, host_network=bool(spec.host_network))
            if port.host_port and path.startswith("spec.containers"):
                key = (port.protocol or "", port.host_ip or "", port.host_port)
                if key in host_ports:
                    shown = "/".join(str(part) for part in key)
                    found.append(faults.duplicate(f"{path}.ports[{index}].hostPort", shown))
                host_ports.add(key)
    return found


def _container_faults(path: str, container: Container, taken: set[str]) -> list[Cause]:
    """The faults of one container; `taken` has the names before it and gets its own."""
    found: list[Cause] = []
    name = container.name or ""
    if not name:
        found.append(faults.required(f"{path}.name"))
    else:
        found += [faults.invalid(f"{path}.name", name, text) for text in names.label(name)]
        if name in taken:
            found.append(faults.duplicate(f"{path}.name", name))
        taken.add(name)
    image = container.image or ""
    if not image:
        found.append(faults.required(f"{path}.image"))
    elif image != image.strip():
        found.append(faults.invalid(f"{path}.image", image, "must not have leading or trailing whitespace"))
    if container.resources is not None:
        found += resources.requirements_faults(f"{path}.resources", container.resources)
    return found


def _port_faults(path: str, port: ContainerPort, *, host_network: bool) -> list[Cause]:
    found: list[Cause] = []
    container_port = port.container_port or 0
    if container_port == 0:
        found.append(faults.required(f"{path}.containerPort"))
    elif not 1 <= container_port <= _MAX_PORT:
        found.append(faults.not_between(f"{path}.containerPort", container_port, 1, _MAX_PORT))
    host_port = port.host_port or 0
    if host_port and not 1 <= host_port <= _MAX_PORT:
        found.append(faults.not_between(f"{path}.hostPort", host_port, 1, _MAX_PORT))
    if host_network and host_port != container_port:
        found.append(
            faults.invalid(
                f"{path}.hostPort", host_port, "must match `containerPort` when `hostNetwork` is true"
            )
        )
    if port.protocol not in _PROTOCOLS:
        found.append(faults.not_supported(f"{path}.protocol", port.protocol or "", _PROTOCOLS))
    return found


def _gate_faults(spec: PodSpec) -> list[Cause]:
    found: list[Cause] = []
    seen: set[str] = set()
    for index, gate in enumerate(spec.scheduling_gates or ()):
        path, name = f"spec.schedulingGates[{index}]", gate.name or ""
        found += [faults.invalid(path, name, text) for text in names.qualified(name)]
        if name in seen:
            found.append(faults.duplicate(path, name))
        seen.add(name)
    return found


def _scheduling_group_faults(spec: PodSpec) -> list[Cause]:
    if spec.scheduling_group is None:
        return []
    path, name = "spec.schedulingGroup.podGroupName", spec.scheduling_group.pod_group_name
    if name is None:
        return [faults.invalid(path, None, "must specify one of: `podGroupName`")]
    return [faults.invalid(path, name, text) for text in names.subdomain(name)]
