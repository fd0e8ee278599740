"""Preemption, written plainly: who has to go for a group or a Pod that fits nowhere.

Sources: KEP-5710; kube-scheduler 1.37, framework/preemption and DefaultPreemption. Pods are manifests as
they are stored; nominations of others, and evictions that are under way, are not looked at.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from reference.amounts import Manifest
from reference.cycle import (
    NEVER,
    SUCCESS,
    key_of,
    minimum_of,
    policy_of,
    priority_of,
    refuse_among,
    run_leaf,
    try_pod,
    unavailable,
)
from reference.filters import Host

LATEST = "9999-12-31T23:59:59Z"


@dataclass
class Unit:
    """Pods that go together, each with its host."""

    kind: int  # 1 for members of groups, 2 for other pods
    priority: int
    pods: list[tuple[Host, Manifest]]

    @property
    def start(self) -> str:
        return min(pod.get("status", {}).get("startTime", LATEST) for _, pod in self.pods)

    def importance(self) -> tuple[int, int, int, str, str]:
        return (-self.priority, self.kind, -len(self.pods), self.start, self.pods[0][1]["metadata"]["uid"])


@dataclass
class World:
    """Hosts by name with the Pods on them, PodGroups by name, budgets; all in one namespace.

    The Pods of a host are in the order in which they came, which their uids tell.
    """

    hosts: list[Host]
    groups: dict[str, Manifest]
    budgets: list[Manifest]

    def units(self, below: int) -> list[Unit]:
        """What a preemptor of this priority may take away, the most important first."""
        whole: dict[str, Unit] = {}
        found: list[Unit] = []
        pods = [(host, pod) for host in self.hosts for pod in host.pods]
        for host, pod in sorted(pods, key=lambda each: each[1]["metadata"]["uid"]):
            name = pod["spec"].get("schedulingGroup", {}).get("podGroupName")
            if name not in self.groups:
                found.append(Unit(2, priority_of(pod), [(host, pod)]))
                continue
            group = self.groups[name]
            if "all" not in group["spec"]["disruptionMode"]:
                found.append(Unit(1, priority_of(group), [(host, pod)]))
            elif name in whole:
                whole[name].pods.append((host, pod))
            else:
                whole[name] = Unit(1, priority_of(group), [(host, pod)])
                found.append(whole[name])
        return sorted((unit for unit in found if unit.priority < below), key=Unit.importance)

    def breaking(self, units: list[Unit]) -> list[Unit]:
        """Those of `units` that would break a budget, if all of them went in this order."""
        left = {id(budget): budget["status"]["disruptionsAllowed"] for budget in self.budgets}
        broken = []
        for unit in units:
            over = False
            for _, pod in unit.pods:
                for budget in self.budgets:
                    listed = budget["status"].get("disruptedPods", {})
                    if _selects(budget, pod) and pod["metadata"]["name"] not in listed:
                        left[id(budget)] -= 1
                        over = over or left[id(budget)] < 0
            if over:
                broken.append(unit)
        return broken

    def victims(self, units: list[Unit], placed: list[tuple[Manifest, str]]) -> list[Unit]:
        """Those of `units` that cannot stay beside the Pods that are `placed`, by name of the host."""
        out = list(units)
        broken = self.breaking(units)
        for unit in broken + [each for each in units if each not in broken]:
            out.remove(unit)
            if not _all_fit(placed, self.without(out)):
                out.append(unit)
        return sorted(out, key=Unit.importance)

    def without(self, units: list[Unit]) -> list[Host]:
        """The hosts without the Pods of `units`."""
        gone = {id(pod) for unit in units for _, pod in unit.pods}
        return [Host(host.node, [pod for pod in host.pods if id(pod) not in gone]) for host in self.hosts]


def _all_fit(placed: list[tuple[Manifest, str]], cluster: list[Host]) -> bool:
    """Can the pods go to their hosts one after the other?"""
    for pod, name in placed:
        (host,) = (host for host in cluster if host.name == name)
        if refuse_among(pod, host, cluster) is not None:
            return False
        host.pods.append(pod)
    return True


@dataclass
class Answer:
    """What preemption says, who has to go, and which node each Pod hopes for."""

    text: str
    victims: set[str]
    nodes: dict[str, str]


def preempt_group(world: World, group: Manifest, members: list[Manifest], scheduled: int) -> Answer:
    """For a PodGroup of which `scheduled` members run and `members` were refused, in their order."""
    if policy_of(group) == "Never":
        return Answer(NEVER, set(), {})
    units = world.units(priority_of(group))
    if not units:
        return Answer("No preemption victims found for incoming preemptor", set(), {})
    status, trials = run_leaf(members, scheduled, minimum_of(group), world.without(units))
    placed = [(trial.pod, trial.node) for trial in trials if trial.node is not None]
    if status.kind != SUCCESS or not placed:
        return Answer(status.message or "pod group is unschedulable", set(), {})
    gone = set(_keys(world.victims(units, placed)))
    nodes = {key_of(pod): node for pod, node in placed}
    return Answer(f"found a placement for podgroup, preempting {len(gone)} victims", gone, nodes)


def preempt_pod(world: World, pod: Manifest) -> Answer:
    """For a Pod without a group that was refused."""
    if policy_of(pod) == "Never":
        return Answer(NEVER, set(), {})
    refusals = try_pod(pod, world.hosts).refusals
    units = world.units(priority_of(pod))
    reasons: list[str] = []
    candidates = []
    for host in world.hosts:
        here = [unit for unit in units if any(on is host for on, _ in unit.pods)]
        if refusals[host.name].hopeless:
            reasons.append("Preemption is not helpful for scheduling")
        elif not here:
            reasons.append("No preemption victims found for incoming pod")
        else:
            cluster = world.without(here)
            cleared = next(each for each in cluster if each.name == host.name)
            refusal = refuse_among(pod, cleared, cluster)
            if refusal is None:
                gone = world.victims(here, [(pod, host.name)])
                candidates.append((_cost(world, here, gone), host.name, gone))
            else:
                reasons.extend(refusal.reasons)
    if not candidates:
        return Answer(unavailable(len(world.hosts), reasons), set(), {})
    best = [each for each in candidates if each[0] == min(cost for cost, _, _ in candidates)]
    latest = max(_start(gone) for _, _, gone in best)
    _, name, gone = min((each for each in best if _start(each[2]) == latest), key=lambda each: each[1])
    keys = set(_keys(gone))
    text = f"found a potential placement for pod on node {name}, preempting {len(keys)} victims"
    return Answer(text, keys, {key_of(pod): name})


def _cost(world: World, units: list[Unit], gone: list[Unit]) -> tuple[int, int, int, int]:
    broken = [unit for unit in world.breaking(units) if unit in gone]
    priorities = [unit.priority for unit in gone for _ in unit.pods]
    return (len(broken), max(priorities), sum(each + 2**31 for each in priorities), len(priorities))


def _start(gone: list[Unit]) -> str:
    highest = max(unit.priority for unit in gone)
    return min(unit.start for unit in gone if unit.priority == highest)


def _keys(units: list[Unit]) -> Iterator[str]:
    for unit in units:
        for _, pod in unit.pods:
            yield key_of(pod)


def _selects(budget: Manifest, pod: Manifest) -> bool:
    wanted = budget["spec"].get("selector", {}).get("matchLabels", {})
    labels = pod["metadata"].get("labels", {})
    return bool(wanted) and all(labels.get(key) == value for key, value in wanted.items())
