"""The group algorithm over a tree: every group in order, all or nothing, inside its placement.

Sources: KEP-4671, KEP-5732, KEP-6012; kube-scheduler 1.37, schedule_one_podgroup.go and the GangScheduling
plugin, with the words of 1.38 about composites. Nothing is written down here: a run only says what would
be placed where.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from reference.filters import Host
from reference.forest import Tree, minimum_of
from reference.placements import NoOneDomain, best_of, domains, most_hoped_for
from reference.trials import Placed, Trial, beside, key_of, try_pod

SUCCESS, WAIT, UNSCHEDULABLE, ERROR = "Success", "Wait", "Unschedulable", "SchedulerError"
UNTRIED = "Untried"

GROUP_UNSCHEDULABLE = "pod group is unschedulable"
NO_PLACEMENTS = "no feasible placements found"


@dataclass(frozen=True)
class Status:
    kind: str
    error: str = ""  # stands in front of the reasons
    reasons: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        return ", ".join([*([self.error] if self.error else []), *self.reasons])

    @property
    def form(self) -> str:
        """What another text repeats of it: the error alone if there is one."""
        return self.error or self.message


def feasibility(minimum: int, scheduled: int, remaining: int, word: str = "minCount") -> Status:
    """Can the minimum still be met, with `scheduled` members placed and `remaining` ones to try?"""
    counts = f"{scheduled} scheduled, {remaining} remaining"
    if scheduled + remaining < minimum:
        return Status(UNSCHEDULABLE, reasons=(f"{word} ({minimum}) cannot be satisfied: {counts}",))
    if scheduled < minimum:
        return Status(WAIT, reasons=(f"{word} ({minimum}) is not yet satisfied: {counts}",))
    return Status(SUCCESS)


@dataclass
class Result:
    """How a group came out. Of a PodGroup, `trials` are those of its members that were tried; `placed`
    are the pods in it and below it that it keeps, `found` its own that found a place, kept or not.
    """

    tree: Tree
    status: Status
    trials: list[Trial] = field(default_factory=list)
    placed: Placed = field(default_factory=list)
    children: "list[Result]" = field(default_factory=list)
    found: Placed = field(default_factory=list)

    @property
    def succeeded(self) -> bool:
        return self.status.kind == SUCCESS

    def each(self) -> "Iterator[Result]":
        """It and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.each()

    def found_places(self) -> Placed:
        """Everyone who found a place, whatever became of the groups above."""
        return [place for result in self.each() for place in result.found]


def run_tree(root: Tree, cluster: list[Host], hopes: dict[str, str]) -> Result:
    """Try the whole tree. `hopes` are the nodes that waiting pods are nominated to, by key.

    A success that places nobody is none: so preemption is asked.
    """
    names = [host.name for host in cluster]
    result = _run(root, cluster, names, hopes, alone=root.is_leaf)
    if result.succeeded and not result.placed:
        result.status = Status(UNSCHEDULABLE, GROUP_UNSCHEDULABLE)
    _hand_down(result)
    return result


def fail(tree: Tree, text: str) -> Result:
    """All of the tree ends in one error, before anything is tried."""
    return Result(tree, Status(ERROR, text), children=[fail(child, text) for child in tree.children])


def _run(
    tree: Tree, cluster: list[Host], names: list[str], hopes: dict[str, str], *, alone: bool = False
) -> Result:
    """Try a group on the nodes `names`; `alone` is a PodGroup that is in no tree."""
    if tree.topology_key is not None:
        return _choose(tree, tree.topology_key, cluster, names, hopes, alone=alone)
    result = _try(tree, cluster, names, hopes)
    return result if alone else _without_placement(result, 1)


def _try(tree: Tree, cluster: list[Host], names: list[str], hopes: dict[str, str]) -> Result:
    if tree.is_leaf:
        return _try_members(tree, cluster, names, hopes)
    return _try_children(tree, cluster, names, hopes)


def _try_members(tree: Tree, cluster: list[Host], names: list[str], hopes: dict[str, str]) -> Result:
    """Place members in their order until the minimum cannot be met any more; go on beyond it."""
    minimum, scheduled, remaining = minimum_of(tree.manifest), len(tree.running), len(tree.waiting)
    status = feasibility(minimum, scheduled, remaining)
    if status.kind == UNSCHEDULABLE:
        return Result(tree, Status(UNSCHEDULABLE, GROUP_UNSCHEDULABLE, status.reasons))
    trials: list[Trial] = []
    placed: Placed = []
    for pod in tree.waiting:
        trial = try_pod(pod, beside(cluster, placed), names, hopes.get(key_of(pod)))
        trials.append(trial)
        remaining -= 1
        if trial.node is not None:
            scheduled += 1
            placed.append((pod, trial.node))
        status = feasibility(minimum, scheduled, remaining)
        if status.kind == UNSCHEDULABLE:
            return Result(tree, status, trials, found=placed)
    return Result(tree, status, trials, placed, found=placed)


def _try_children(tree: Tree, cluster: list[Host], names: list[str], hopes: dict[str, str]) -> Result:
    """Try children in their order, each beside what the ones before it have placed."""
    minimum, scheduled, remaining = minimum_of(tree.manifest), 0, len(tree.children)
    status = feasibility(minimum, scheduled, remaining, "minGroupCount")
    results: list[Result] = []
    placed: Placed = []
    for child in tree.children:
        if status.kind in (UNSCHEDULABLE, ERROR):
            results.append(_untried(child))
            continue
        result = _run(child, beside(cluster, placed), names, hopes)
        results.append(result)
        if result.status.kind == ERROR:
            text = f"composite pod group evaluation failed due to child error: {result.status.form}"
            status = Status(ERROR, text)
            continue
        remaining -= 1
        if result.succeeded:
            scheduled += 1
            placed += result.placed
        status = feasibility(minimum, scheduled, remaining, "minGroupCount")
    return Result(tree, status, placed=placed if status.kind == SUCCESS else [], children=results)


def _untried(tree: Tree) -> Result:
    return Result(tree, Status(UNTRIED), children=[_untried(child) for child in tree.children])


def _choose(
    tree: Tree, key: str, cluster: list[Host], names: list[str], hopes: dict[str, str], *, alone: bool
) -> Result:
    """Try a group in every domain of its constraint, and take the best one in which it succeeds."""
    try:
        placements = domains(tree, key, cluster, names)
    except NoOneDomain as fault:
        return _with_status(_untried(tree), Status(ERROR, str(fault)))
    if not placements:
        return _with_status(_untried(tree), Status(UNSCHEDULABLE, reasons=(NO_PLACEMENTS,)))
    hoped_for = most_hoped_for(tree, placements, hopes) if alone else None
    if hoped_for is not None:
        result = _try(tree, cluster, placements[hoped_for], hopes)
        if result.succeeded and result.placed:
            return result
    results = {}
    for value, nodes in placements.items():
        results[value] = _try(tree, cluster, nodes, hopes)
        if results[value].status.kind == ERROR:
            return results[value]
    good = {
        value: (placements[value], result.placed) for value, result in results.items() if result.succeeded
    }
    if good:
        running = sum(len(leaf.running) for leaf in tree.leaves())
        return results[best_of(good, running, cluster)]
    return _without_placement(results[hoped_for or next(iter(placements))], len(placements))


def _with_status(result: Result, status: Status) -> Result:
    result.status = status
    return result


def _without_placement(result: Result, count: int) -> Result:
    """A refusal in the reported one of `count` placements, in the words of all."""
    if result.status.kind == UNSCHEDULABLE:
        text = f"0/{count} placements are available, first placement status: {result.status.form}"
        result.status = Status(UNSCHEDULABLE, GROUP_UNSCHEDULABLE, (text,))
    return result


def _hand_down(result: Result) -> None:
    """Groups that are pulled down by one above, or were not reached, get what that one has to say."""
    if result.succeeded:
        for child in result.children:
            _hand_down(child)
    else:
        for child in result.children:
            _pull_down(child, result, "parent")


def _pull_down(result: Result, cause: Result, above: str) -> None:
    if result.status.kind not in (SUCCESS, UNTRIED):
        _hand_down(result)
        return
    text = cause.status.message
    if cause.status.kind == UNSCHEDULABLE:
        text = f'{above} composite pod group "{cause.tree.name}" is unschedulable: {text}'
    result.status = Status(cause.status.kind, text)
    result.trials, result.placed = [], []
    for child in result.children:
        _pull_down(child, cause, "ancestor")
