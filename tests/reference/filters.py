"""The filters of the default profile, one node and one pod at a time.

Source: kube-scheduler 1.37, NodeUnschedulable, NodeName, TaintToleration, NodeAffinity, NodePorts and
NodeResourcesFit. Each returns the refusal of the node, or None where the pod may run.
"""

from dataclasses import dataclass, field

from reference.amounts import Amounts, Manifest, is_sidecar, offered, requested

TERMINAL = ("Succeeded", "Failed")
OTHER_NODE = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
CONFLICT = "pod affinity terms conflict"


@dataclass
class Host:
    """A node and the pods that use it: bound, terminating or assumed, but not terminal.

    `namespaces` are the labels of all Namespace objects by name. `promised` are waiting pods that are
    nominated to the node and that the pod which is tried must leave room for.
    """

    node: Manifest
    pods: list[Manifest] = field(default_factory=list)
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)
    promised: list[Manifest] = field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.node["metadata"]["name"])

    @property
    def labels(self) -> dict[str, str]:
        return dict(self.node["metadata"].get("labels", {}))

    def used(self) -> Amounts:
        total: Amounts = {}
        for pod in self.pods:
            for resource, amount in requested(pod).items():
                total[resource] = total.get(resource, 0) + amount
        return total


@dataclass(frozen=True)
class Refusal:
    """Why a node was ruled out. Hopeless: no preemption of pods can help there (Unresolvable)."""

    reasons: tuple[str, ...]
    hopeless: bool


def refuse(pod: Manifest, host: Host) -> Refusal | None:
    """The refusal of the first filter that has one, of those that look at a single node."""
    for check in FILTERS:
        refusal = check(pod, host)
        if refusal is not None:
            return refusal
    return None


def node_unschedulable(pod: Manifest, host: Host) -> Refusal | None:
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    if host.node.get("spec", {}).get("unschedulable") and not tolerates(pod, taint):
        return Refusal(("node(s) were unschedulable",), hopeless=True)
    return None


def node_name(pod: Manifest, host: Host) -> Refusal | None:
    wanted = pod["spec"].get("nodeName")
    if wanted and wanted != host.name:
        return Refusal(("node(s) didn't match the requested node name",), hopeless=True)
    return None


def taint_toleration(pod: Manifest, host: Host) -> Refusal | None:
    for taint in host.node.get("spec", {}).get("taints", []):
        if taint["effect"] in ("NoSchedule", "NoExecute") and not tolerates(pod, taint):
            return Refusal(("node(s) had untolerated taint(s)",), hopeless=True)
    return None


def tolerates(pod: Manifest, taint: Manifest) -> bool:
    return any(_matches(toleration, taint) for toleration in pod["spec"].get("tolerations", []))


def _matches(toleration: Manifest, taint: Manifest) -> bool:
    any_value = toleration.get("operator") == "Exists"
    key = toleration.get("key")
    return (
        toleration.get("effect") in (None, "", taint["effect"])
        and (key == taint["key"] or (not key and any_value))
        and (any_value or (toleration.get("value") or "") == (taint.get("value") or ""))
    )


def node_affinity(pod: Manifest, host: Host) -> Refusal | None:
    wanted = pod["spec"].get("nodeSelector", {})
    terms = required_terms(pod)
    if any(host.labels.get(key) != value for key, value in wanted.items()) or (
        terms is not None and not any(term_matches(term, host) for term in terms)
    ):
        return Refusal(("node(s) didn't match Pod's node affinity/selector",), hopeless=True)
    return None


def required_terms(pod: Manifest) -> list[Manifest] | None:
    """The terms of the required node affinity, of which one must match; None if there is none."""
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return None if required is None else list(required.get("nodeSelectorTerms", []))


def term_matches(term: Manifest, host: Host) -> bool:
    """All expressions and fields hold; a term without any matches nothing."""
    checks = [_holds(expression, host.labels) for expression in term.get("matchExpressions", [])]
    checks += [_holds(field, {"metadata.name": host.name}) for field in term.get("matchFields", [])]
    return bool(checks) and all(checks)


def _holds(expression: Manifest, labels: dict[str, str]) -> bool:
    value = labels.get(expression["key"])
    values = expression.get("values", [])
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return _is_larger(value, values[0])
        case "Lt":
            return _is_larger(values[0], value)
        case unknown:
            raise ValueError(f"unknown operator {unknown}")


def _is_larger(one: str | None, other: str | None) -> bool:
    """What is no number is neither larger nor smaller than anything."""
    return _is_integer(one) and _is_integer(other) and int(one or 0) > int(other or 0)


def _is_integer(value: str | None) -> bool:
    return value is not None and value.removeprefix("-").removeprefix("+").isdecimal()


def pinned_nodes(pod: Manifest) -> set[str] | None:
    """The only nodes worth a look, if every term of the required affinity names its nodes; else None.

    An empty set means that the names within each term contradict each other.
    """
    terms = required_terms(pod)
    if not terms:
        return None
    pinned: set[str] = set()
    for term in terms:
        named = [
            set(field["values"])
            for field in term.get("matchFields", [])
            if field["key"] == "metadata.name" and field["operator"] == "In"
        ]
        if not named:
            return None
        pinned |= set.intersection(*named)
    return pinned


def node_ports(pod: Manifest, host: Host) -> Refusal | None:
    taken = [port for other in host.pods for port in host_ports(other)]
    if any(_clash(mine, theirs) for mine in host_ports(pod) for theirs in taken):
        return Refusal(("node(s) didn't have free ports for the requested pod ports",), hopeless=False)
    return None


HostPort = tuple[str, str, int]  # IP, protocol, port


def host_ports(pod: Manifest) -> list[HostPort]:
    """The host ports of containers and sidecars; on the host's network every container port is one."""
    spec = pod["spec"]
    sidecars = [container for container in spec.get("initContainers", []) if is_sidecar(container)]
    ports: list[HostPort] = []
    for container in spec.get("containers", []) + sidecars:
        for port in container.get("ports", []):
            number = port.get("hostPort") or (port["containerPort"] if spec.get("hostNetwork") else 0)
            if number:
                ports.append((port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", number))
    return ports


def _clash(mine: HostPort, theirs: HostPort) -> bool:
    same_ip = mine[0] == theirs[0] or "0.0.0.0" in (mine[0], theirs[0])
    return same_ip and mine[1:] == theirs[1:]


def node_resources_fit(pod: Manifest, host: Host) -> Refusal | None:
    has, used, wants = offered(host.node), host.used(), requested(pod)
    reasons = ["Too many pods"] if len(host.pods) + 1 > has.get("pods", 0) else []
    short = [
        resource
        for resource, amount in wants.items()
        if amount > has.get(resource, 0) - used.get(resource, 0)
    ]
    reasons += [f"Insufficient {resource}" for resource in short]
    if not reasons:
        return None
    return Refusal(tuple(reasons), hopeless=any(wants[resource] > has.get(resource, 0) for resource in short))


FILTERS = (node_unschedulable, node_name, taint_toleration, node_affinity, node_ports, node_resources_fit)
