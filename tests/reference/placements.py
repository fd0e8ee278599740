"""Placements: among which sets of nodes a group with a topology constraint chooses, and which is best.

Source: KEP-5732; kube-scheduler 1.37, TopologyPlacementGenerator, PodGroupPodsCount, NodeResourcesFit.
"""

from reference.amounts import offered, requested_when_scored
from reference.filters import Host
from reference.forest import Tree
from reference.trials import Placed, beside, key_of


class NoOneDomain(Exception):
    """The members that run do not tell one domain; the message is Kubernetes' text."""


def domains(tree: Tree, key: str, cluster: list[Host], names: list[str]) -> dict[str, list[str]]:
    """The nodes among `names` by their value of the label `key`, by that value.

    Members that run leave only their own value. Raises NoOneDomain if they have several or none.
    """
    labels = {host.name: host.labels for host in cluster}
    pinned = set()
    for leaf in tree.leaves():
        for pod, node in leaf.running:
            if key not in labels.get(node, {}):
                raise NoOneDomain(
                    "cannot determine domain for already scheduled pods: "
                    f"no topology domain found for pod {pod['metadata']['name']}"
                )
            pinned.add(labels[node][key])
    if len(pinned) > 1:
        raise NoOneDomain(
            "cannot determine domain for already scheduled pods: "
            f"more than 1 domain found for pod group: {', '.join(sorted(pinned)[:2])}"
        )
    found: dict[str, list[str]] = {}
    for name in names:
        value = labels[name].get(key)
        if value is not None and (not pinned or value in pinned):
            found.setdefault(value, []).append(name)
    return {value: found[value] for value in sorted(found)}


def most_hoped_for(tree: Tree, placements: dict[str, list[str]], hopes: dict[str, str]) -> str | None:
    """The placement with most of the nodes that the group's own members are nominated to; None if none has
    any."""
    wanted = [hopes[key] for key in map(key_of, tree.waiting) if key in hopes]
    votes = {value: sum(node in names for node in wanted) for value, names in placements.items()}
    best = max(votes.values(), default=0)
    return next((value for value in placements if votes[value] == best), None) if best else None


def best_of(choices: dict[str, tuple[list[str], Placed]], running: int, cluster: list[Host]) -> str:
    """The placement with the best score, of equals the first by name.

    Each has its nodes and what would be placed there; `running` members of the group have a node already.
    """
    members = {value: running + len(placed) for value, (_, placed) in choices.items()}
    scores = {
        value: members[value] * 100 // max(members.values()) + _fullness(names, beside(cluster, placed))
        for value, (names, placed) in choices.items()
    }
    return min(choices, key=lambda value: (-scores[value], value))


def _fullness(names: list[str], cluster: list[Host]) -> int:
    """MostAllocated of the nodes, as if they were one."""
    hosts = [host for host in cluster if host.name in names]
    points = []
    for resource in ("cpu", "memory"):
        whole = sum(offered(host.node).get(resource, 0) for host in hosts)
        used = sum(requested_when_scored(pod)[resource] for host in hosts for pod in host.pods)
        if whole:
            points.append(0 if used > whole else used * 100 // whole)
    return sum(points) // len(points) if points else 0
