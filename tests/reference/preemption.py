"""Preemption, written plainly: who has to go for a group or a Pod that fits nowhere.

Sources: KEP-5710; kube-scheduler 1.37, framework/preemption and DefaultPreemption.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import ceil

from reference.amounts import Manifest
from reference.filters import TERMINAL, Host
from reference.neighbours import labels_of, namespace_of, selected
from reference.tree import ERROR, Result
from reference.trials import (
    Placed,
    Trial,
    beside,
    is_deleting,
    key_of,
    policy_of,
    priority_of,
    refuse_among,
    unavailable,
)

NEVER = "not eligible due to preemptionPolicy=Never."
ONGOING = "ongoing preemption on nominated nodes"
LATEST = "9999-12-31T23:59:59Z"
COMPOSITE, GROUP, POD = range(3)


@dataclass(frozen=True)
class Running:
    """A pod on a node, as preemption sees it: its priority is that of its root, `kind` what it is taken for.
    If it goes only with others, `whole` is the subject of the group that holds them together. `evicted`
    are those that end because the scheduler said so."""

    pod: Manifest
    node: str
    kind: int
    priority: int
    whole: str | None = None
    evicted: bool = False


@dataclass
class Unit:
    """Pods that go together, the oldest first."""

    kind: int
    priority: int
    pods: list[Running]

    @property
    def start(self) -> str:
        return min(each.pod.get("status", {}).get("startTime") or LATEST for each in self.pods)

    def importance(self) -> tuple[int, int, int, str, str]:
        """The smaller, the more important."""
        uid = self.pods[0].pod["metadata"]["uid"]
        return (-self.priority, self.kind, -len(self.pods), self.start, uid)


@dataclass
class World:
    """What an attempt looks at beside its own pods: hosts by name, with the pods on them and those promised
    to them; who runs, the oldest first; budgets, with all pods that they could be about; and the nodes
    that waiting pods are nominated to, by key."""

    hosts: list[Host]
    running: list[Running] = field(default_factory=list)
    budgets: list[Manifest] = field(default_factory=list)
    pods: list[Manifest] = field(default_factory=list)
    hopes: dict[str, str] = field(default_factory=dict)

    def units(self, below: int) -> list[Unit]:
        """What a preemptor of this priority may take away, the most important first. Who is only on
        nodes that are not there any more is in nobody's way."""
        whole: dict[str, Unit] = {}
        found: list[Unit] = []
        for each in self.running:
            if each.whole is None:
                found.append(Unit(each.kind, each.priority, [each]))
            elif each.whole in whole:
                whole[each.whole].pods.append(each)
            else:
                whole[each.whole] = Unit(each.kind, each.priority, [each])
                found.append(whole[each.whole])
        names = {host.name for host in self.hosts}
        there = [unit for unit in found if any(each.node in names for each in unit.pods)]
        return sorted((unit for unit in there if unit.priority < below), key=Unit.importance)

    def breaking(self, units: list[Unit]) -> list[tuple[Unit, int]]:
        """Those of `units` that would break a budget, if all of them went in this order, each with how many
        of its pods do."""
        left = [allowed(budget, self.pods) for budget in self.budgets]
        broken = []
        for unit in units:
            count = 0
            for each in unit.pods:
                over = False
                for number, budget in enumerate(self.budgets):
                    listed = budget.get("status", {}).get("disruptedPods") or {}
                    if protects(budget, each.pod) and each.pod["metadata"]["name"] not in listed:
                        left[number] -= 1
                        over = over or left[number] < 0
                count += over
            if count:
                broken.append((unit, count))
        return broken

    def victims(self, units: list[Unit], placed: Placed) -> list[Unit]:
        """Those of `units` that cannot stay beside the pods that are `placed`."""
        out = list(units)
        broken = [unit for unit, _ in self.breaking(units)]
        for unit in broken + [each for each in units if each not in broken]:
            out.remove(unit)
            if not _all_fit(placed, self.without(out)):
                out.append(unit)
        return sorted(out, key=Unit.importance)

    def without(self, units: list[Unit]) -> list[Host]:
        """The hosts without the pods of `units`."""
        gone = {key_of(each.pod) for unit in units for each in unit.pods}
        return [
            replace(host, pods=[pod for pod in host.pods if key_of(pod) not in gone]) for host in self.hosts
        ]

    def ending(self, nodes: set[str], below: int) -> list[str]:
        """The pods of lower priority on these nodes that the scheduler has evicted, the oldest first."""
        there = nodes & {host.name for host in self.hosts}
        return [
            key_of(each.pod)
            for each in self.running
            if each.node in there and each.evicted and each.priority < below
        ]


def protects(budget: Manifest, pod: Manifest) -> bool:
    """A selector that asks for nothing protects nobody."""
    selector = budget["spec"].get("selector") or {}
    asks = selector.get("matchLabels") or selector.get("matchExpressions")
    return bool(asks) and namespace_of(budget) == namespace_of(pod) and selected(selector, labels_of(pod))


def allowed(budget: Manifest, pods: list[Manifest]) -> int:
    """How many more of its pods may go: as its status says, else as a disruption controller would count."""
    status = budget.get("status") or {}
    if "disruptionsAllowed" in status:
        return int(status["disruptionsAllowed"])
    expected = [
        pod for pod in pods if protects(budget, pod) and pod.get("status", {}).get("phase") not in TERMINAL
    ]
    healthy = sum(
        pod.get("status", {}).get("phase") == "Running" and not is_deleting(pod) for pod in expected
    )
    spec = budget["spec"]
    if spec.get("maxUnavailable") is not None:
        desired = max(len(expected) - _count(spec["maxUnavailable"], len(expected)), 0)
    else:
        desired = _count(spec.get("minAvailable") or 0, len(expected))
    return max(healthy - desired, 0)


def _count(amount: int | str, of: int) -> int:
    return amount if isinstance(amount, int) else ceil(int(amount.removesuffix("%")) * of / 100)


def _all_fit(placed: Placed, cluster: list[Host]) -> bool:
    """Can the pods go to their hosts one after the other?"""
    for number, (pod, name) in enumerate(placed):
        room = beside(cluster, placed[:number])
        (host,) = (host for host in room if host.name == name)
        if refuse_among(pod, host, room) is not None:
            return False
    return True


@dataclass
class Answer:
    """What preemption says. There will be room once the `victims` have gone, if it is to be `waited` for;
    `nodes` are what its pods hope for from now on, None: as before. An `error` is one of the rerun."""

    text: str
    victims: list[str] = field(default_factory=list)
    nodes: dict[str, str] | None = field(default_factory=dict)
    waited: bool = False
    error: bool = False


def preempt_group(
    world: World, root: Manifest, members: list[Manifest], again: Callable[[list[Host]], Result]
) -> Answer:
    """For a tree with this root, whose `members` were refused; `again` tries it on other hosts."""
    if policy_of(root) == "Never":
        return Answer(NEVER)
    hopes = {world.hopes[key] for key in map(key_of, members) if key in world.hopes}
    if ending := world.ending(hopes, priority_of(root)):
        return Answer(ONGOING, ending, None, waited=True)
    units = world.units(priority_of(root))
    if not units:
        return Answer("No preemption victims found for incoming preemptor")
    result = again(world.without(units))
    if not result.succeeded:
        return Answer(result.status.message, error=result.status.kind == ERROR)
    placed = result.found_places()
    gone = list(_keys(world.victims(units, placed)))
    nodes = {key_of(pod): node for pod, node in placed}
    text = f"found a placement for podgroup, preempting {len(gone)} victims"
    return Answer(text, gone, nodes, waited=True)


def preempt_pod(world: World, trial: Trial) -> Answer:
    """For a Pod without a group that was refused as `trial` says."""
    pod = trial.pod
    if policy_of(pod) == "Never":
        return Answer(NEVER, nodes=None)
    hope = world.hopes.get(key_of(pod))
    helped = {host for host, refusal in trial.refusals.items() if host == hope and not refusal.hopeless}
    if ending := world.ending(helped, priority_of(pod)):
        text = "not eligible due to a terminating pod on the nominated node."
        return Answer(text, ending, None, waited=True)
    units = world.units(priority_of(pod))
    reasons: list[str] = []
    candidates = []
    for host in world.hosts:
        here = [unit for unit in units if any(each.node == host.name for each in unit.pods)]
        if trial.refusals[host.name].hopeless:
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
        return Answer(unavailable(len(world.hosts), reasons))
    best = [each for each in candidates if each[0] == min(cost for cost, _, _ in candidates)]
    latest = max(_start(gone) for _, _, gone in best)
    _, name, gone = min((each for each in best if _start(each[2]) == latest), key=lambda each: each[1])
    keys = list(_keys(gone))
    text = f"found a potential placement for pod on node {name}, preempting {len(keys)} victims"
    return Answer(text, keys, {key_of(pod): name}, waited=True)


def _cost(world: World, units: list[Unit], gone: list[Unit]) -> tuple[int, int, int, int]:
    broken = sum(count for unit, count in world.breaking(units) if unit in gone)
    priorities = [unit.priority for unit in gone for _ in unit.pods]
    return (broken, max(priorities), sum(each + 2**31 for each in priorities), len(priorities))


def _start(gone: list[Unit]) -> str:
    highest = max(unit.priority for unit in gone)
    return min(unit.start for unit in gone if unit.priority == highest)


def _keys(units: list[Unit]) -> Iterator[str]:
    for unit in units:
        for each in unit.pods:
            yield key_of(each.pod)
