"""What other pods have to say about a node, one node, one pod and one term at a time.

Source: kube-scheduler 1.37, PodTopologySpread and InterPodAffinity; KEP-895, KEP-3022, KEP-3094,
KEP-3633. A cluster is a list of all hosts; a namespace without a Namespace object has its name as only label.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from reference.amounts import Manifest
from reference.filters import Host, Refusal, node_affinity, taint_toleration

HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def namespace_of(pod: Manifest) -> str:
    return str(pod.get("metadata", {}).get("namespace", "default"))


def labels_of(pod: Manifest) -> dict[str, str]:
    return dict(pod.get("metadata", {}).get("labels") or {})


def selected(selector: Manifest | None, labels: dict[str, str]) -> bool:
    """No selector selects nothing, an empty one everything."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _holds(expression, labels) for expression in selector.get("matchExpressions") or []
    )


def _holds(expression: Manifest, labels: dict[str, str]) -> bool:
    has = expression["key"] in labels
    among = has and labels[expression["key"]] in expression.get("values", [])
    return {"In": among, "NotIn": not among, "Exists": has, "DoesNotExist": not has}[expression["operator"]]


def selects(rule: Manifest, owner: Manifest, other: Manifest) -> bool:
    """Does the label selector of a rule of `owner` select `other`, with the keys they must (not) share?"""
    mine, theirs = labels_of(owner), labels_of(other)
    return (
        selected(rule.get("labelSelector"), theirs)
        and all(theirs.get(key) == mine[key] for key in rule.get("matchLabelKeys") or [] if key in mine)
        and all(theirs.get(key) != mine[key] for key in rule.get("mismatchLabelKeys") or [] if key in mine)
    )


def about(term: Manifest, owner: Manifest, other: Manifest, namespaces: dict[str, dict[str, str]]) -> bool:
    """Is the (anti-)affinity term of `owner` about `other`?"""
    named, selector = term.get("namespaces") or [], term.get("namespaceSelector")
    theirs = namespace_of(other)
    if not named and selector is None:
        in_scope = theirs == namespace_of(owner)
    else:
        labels = {**namespaces.get(theirs, {}), "kubernetes.io/metadata.name": theirs}
        in_scope = theirs in named or selected(selector, labels)
    return in_scope and selects(term, owner, other)


def required(pod: Manifest, kind: str) -> list[Manifest]:
    return list(((pod["spec"].get("affinity") or {}).get(kind) or {}).get(REQUIRED) or [])


def preferred(pod: Manifest) -> Iterator[tuple[int, Manifest]]:
    for sign, kind in ((1, "podAffinity"), (-1, "podAntiAffinity")):
        for wish in ((pod["spec"].get("affinity") or {}).get(kind) or {}).get(PREFERRED) or []:
            yield sign * wish["weight"], wish["podAffinityTerm"]


def same_domain(key: str, one: Host, other: Host) -> bool:
    return key in one.labels and one.labels[key] == other.labels.get(key)


def inter_pod_affinity(pod: Manifest, host: Host, cluster: Sequence[Host]) -> Refusal | None:
    wanted, unwanted = required(pod, "podAffinity"), required(pod, "podAntiAffinity")
    everyone = [(other, where) for where in cluster for other in where.pods]

    def all_about(other: Manifest) -> bool:
        return all(about(term, pod, other, host.namespaces) for term in wanted)

    fitting = [where for other, where in everyone if all_about(other)] if wanted else []
    keys = [term["topologyKey"] for term in wanted]
    somebody = any(key in where.labels for where in fitting for key in keys)
    for key in keys:
        begins = not somebody and all_about(pod) and key in host.labels
        if not begins and not any(same_domain(key, host, where) for where in fitting):
            return Refusal(("node(s) didn't match pod affinity rules",), hopeless=True)
    for term in unwanted:
        if any(
            same_domain(term["topologyKey"], host, where) and about(term, pod, other, host.namespaces)
            for other, where in everyone
        ):
            return Refusal(("node(s) didn't match pod anti-affinity rules",), hopeless=False)
    for other, where in everyone:
        for term in required(other, "podAntiAffinity"):
            if same_domain(term["topologyKey"], host, where) and about(term, other, pod, host.namespaces):
                return Refusal(("node(s) didn't satisfy existing pods anti-affinity rules",), hopeless=False)
    return None


def constraints(pod: Manifest, action: str) -> list[Manifest]:
    spread = pod["spec"].get("topologySpreadConstraints") or []
    return [constraint for constraint in spread if constraint["whenUnsatisfiable"] == action]


def counts_for(constraint: Manifest, rules: list[Manifest], pod: Manifest, host: Host) -> bool:
    """Is the host one on which pods are counted? It needs the keys of all `rules` of that kind."""
    if any(rule["topologyKey"] not in host.labels for rule in rules):
        return False
    if constraint.get("nodeAffinityPolicy", "Honor") == "Honor" and node_affinity(pod, host) is not None:
        return False
    return constraint.get("nodeTaintsPolicy") != "Honor" or taint_toleration(pod, host) is None


def alike(constraint: Manifest, pod: Manifest, host: Host) -> int:
    """How many pods on the host the constraint counts."""
    return sum(
        namespace_of(other) == namespace_of(pod)
        and other.get("metadata", {}).get("deletionTimestamp") is None
        and selects(constraint, pod, other)
        for other in host.pods
    )


def pod_topology_spread(pod: Manifest, host: Host, cluster: Sequence[Host]) -> Refusal | None:
    text = "node(s) didn't match pod topology spread constraints"
    rules = constraints(pod, "DoNotSchedule")
    for rule in rules:
        key = rule["topologyKey"]
        if key not in host.labels:
            return Refusal((f"{text} (missing required label)",), hopeless=True)
        counts: dict[str, int] = {}
        for other in cluster:
            if counts_for(rule, rules, pod, other):
                value = other.labels[key]
                counts[value] = counts.get(value, 0) + alike(rule, pod, other)
        least = min(counts.values()) if counts and len(counts) >= rule.get("minDomains", 1) else 0
        itself = int(selects(rule, pod, pod))
        if counts.get(host.labels[key], 0) + itself - least > rule["maxSkew"]:
            return Refusal((text,), hopeless=False)
    return None


def score_topology_spread(pod: Manifest, feasible: list[Host], cluster: Sequence[Host]) -> list[int]:
    rules = constraints(pod, "ScheduleAnyway")
    compared = [host for host in feasible if all(rule["topologyKey"] in host.labels for rule in rules)]
    if not rules or not compared:
        return [0] * len(feasible)
    raw = {host.name: _crowding(pod, host, rules, compared, cluster) for host in compared}
    most, least = max(raw.values()), min(raw.values())
    return [
        0 if host.name not in raw else 100 if most == 0 else 100 * (most + least - raw[host.name]) // most
        for host in feasible
    ]


def _crowding(
    pod: Manifest, host: Host, rules: list[Manifest], compared: list[Host], cluster: Sequence[Host]
) -> int:
    total = Fraction(0)
    for rule in rules:
        key = rule["topologyKey"]
        if key == HOST:
            domains, count = len(compared), alike(rule, pod, host)
        else:
            domains = len({other.labels[key] for other in compared})
            count = sum(
                alike(rule, pod, other)
                for other in cluster
                if same_domain(key, host, other) and counts_for(rule, rules, pod, other)
            )
        total += count * Fraction(math.log(domains + 2)) + rule["maxSkew"] - 1
    return math.floor(total + Fraction(1, 2))


def score_inter_pod_affinity(
    pod: Manifest, feasible: list[Host], cluster: Sequence[Host], hard_weight: int = 1
) -> list[int]:
    """`hard_weight` is what a required affinity of another pod counts."""
    raw = [_liking(pod, host, cluster, hard_weight) for host in feasible]
    most, least = max(raw), min(raw)
    return [100 * (points - least) // (most - least) if most > least else 0 for points in raw]


def _liking(pod: Manifest, host: Host, cluster: Sequence[Host], hard_weight: int) -> int:
    total = 0
    for where in cluster:
        for other in where.pods:
            theirs = [(hard_weight, term) for term in required(other, "podAffinity")] + list(preferred(other))
            both = [(weight, term, pod, other) for weight, term in preferred(pod)]
            both += [(weight, term, other, pod) for weight, term in theirs]
            for weight, term, owner, subject in both:
                if same_domain(term["topologyKey"], host, where) and about(
                    term, owner, subject, host.namespaces
                ):
                    total += weight
    return total
