"""One attempt at a single Pod or at a tree of groups: who gets which node, who has to go, and every text.

Sources: KEP-4671; kube-scheduler 1.37, schedule_one.go, schedule_one_podgroup.go. An attempt only finds
things out here; writing them down is the model's part.
"""

from dataclasses import dataclass, field

from reference.amounts import Manifest
from reference.forest import Tree
from reference.preemption import Answer, World, preempt_group, preempt_pod
from reference.tree import ERROR, GROUP_UNSCHEDULABLE, SUCCESS, UNSCHEDULABLE, Result, fail, run_tree
from reference.trials import is_deleting, key_of, policy_of, priority_of, scheduler_of, try_pod

SKIPPED, WAITING = "Skipped", "WaitingOnPreemption"
LEVELS = 4
"""How many levels a tree may have, that of its PodGroups included."""


@dataclass(frozen=True)
class Said:
    """What is said of a group or a Pod: the reason and the message of its condition; of a group that
    starts, SUCCESS and nothing."""

    reason: str
    message: str = ""


@dataclass(frozen=True)
class Outcome:
    """What one attempt decides. WAITING: refused, but there will be room once `victims` have gone.

    `bound` are pods with their nodes, in the order of placing; `skipped` those that are being deleted.
    `hopes` are the nodes that the others are nominated to from now on; None: as before.
    """

    verdict: str
    bound: dict[str, str] = field(default_factory=dict)
    refused: dict[str, Said] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    groups: dict[str, Said] = field(default_factory=dict)
    victims: list[str] = field(default_factory=list)
    hopes: dict[str, str] | None = field(default_factory=dict)


def attempt_pod(pod: Manifest, world: World) -> Outcome:
    """One attempt at a pod without a group."""
    key = key_of(pod)
    if is_deleting(pod):
        return Outcome(SKIPPED, skipped=[key])
    trial = try_pod(pod, world.hosts, hope=world.hopes.get(key))
    if trial.node is not None:
        return Outcome(SUCCESS, bound={key: trial.node})
    if not world.hosts:
        return Outcome(UNSCHEDULABLE, refused={key: Said(UNSCHEDULABLE, trial.text)})
    answer = preempt_pod(world, trial)
    said = Said(UNSCHEDULABLE, f"{trial.text} preemption: {answer.text}")
    verdict = WAITING if answer.waited else UNSCHEDULABLE
    return Outcome(verdict, refused={key: said}, victims=answer.victims, hopes=answer.nodes)


def attempt_tree(tree: Tree, world: World) -> Outcome:
    """One cycle of a root, with everybody who waits below it."""
    queued = [pod for leaf in tree.leaves() for pod in leaf.waiting]
    fault = disagreement(tree)
    if fault is not None:
        return _told(ERROR, fail(tree, fault), None, [])
    skipped = [key_of(pod) for pod in queued if is_deleting(pod)]
    members = [pod for pod in queued if not is_deleting(pod)]
    if not members:
        return Outcome(SKIPPED, skipped=skipped)
    for leaf in tree.leaves():
        leaf.waiting = [pod for pod in leaf.waiting if not is_deleting(pod)]
    result = run_tree(tree, world.hosts, world.hopes)
    if result.status.kind != UNSCHEDULABLE:
        return _told(result.status.kind, result, None, skipped)
    answer = preempt_group(world, tree.manifest, members, lambda hosts: run_tree(tree, hosts, world.hopes))
    if answer.error:
        return _told(ERROR, fail(tree, answer.text), None, skipped)
    return _told(WAITING if answer.waited else UNSCHEDULABLE, result, answer, skipped)


def _told(verdict: str, root: Result, answer: Answer | None, skipped: list[str]) -> Outcome:
    """The outcome with what everybody is told; `answer` is that of preemption, if it was asked."""
    groups: dict[str, Said] = {}
    refused: dict[str, Said] = {}
    for result in root.each():
        status, text = result.status, result.status.message
        whole = text
        if answer is not None and status.kind == UNSCHEDULABLE:
            whole = f"{text}, pod group preemption: {answer.text}"
        groups[result.tree.subject] = Said(status.kind, whole)
        trials = {key_of(trial.pod): trial for trial in result.trials}
        for key in map(key_of, result.tree.waiting):
            if key not in trials:
                refused[key] = Said(status.kind, text)
            elif trials[key].node is None:
                refused[key] = Said(UNSCHEDULABLE, trials[key].text)
            elif not result.succeeded:
                prefix = "" if verdict == WAITING else f"{GROUP_UNSCHEDULABLE}, "
                refused[key] = Said(UNSCHEDULABLE, prefix + whole)
    return Outcome(
        verdict,
        bound={key_of(pod): node for pod, node in root.placed},
        refused=refused,
        skipped=skipped,
        groups=groups,
        victims=[] if answer is None else answer.victims,
        hopes={} if answer is None else answer.nodes,
    )


def disagreement(tree: Tree) -> str | None:
    """The first way in which the tree is not what one may be: too deep, or a group or a pod, waiting or
    running, is not like its root; None if there is none."""
    if tree.levels > LEVELS:
        return f"hierarchy depth {tree.levels} exceeds maximum allowed depth {LEVELS}"
    fault = _group_unlike(tree, tree)
    if fault is not None:
        return fault
    pods = [pod for leaf in tree.leaves() for pod in leaf.waiting]
    pods += [pod for leaf in tree.leaves() for pod, _ in leaf.running]
    root, first = tree.manifest, scheduler_of(pods[0])
    same = "all pods in a single pod group should have the same"
    for pod in pods:
        if scheduler_of(pod) != first:
            return f'{same} .spec.schedulerName set, got: "{scheduler_of(pod)}" and "{first}"'
        if priority_of(pod) != priority_of(root):
            got = f"got {priority_of(pod)} and {priority_of(root)}"
            return f"{same} priority as the pod group's priority, {got}"
        if policy_of(pod) != policy_of(root):
            got = f"got {policy_of(pod)} and {policy_of(root)}"
            return f"{same} preemption policy as the pod group's preemption policy, {got}"
    return None


def _group_unlike(root: Tree, tree: Tree) -> str | None:
    same = "all pod groups in a hierarchy should have the same"
    for child in tree.children:
        for what, of in (("priority", priority_of), ("preemption policy", policy_of)):
            mine, its = of(child.manifest), of(root.manifest)  # type: ignore[operator]
            if mine != its:
                got = f'got {mine} ("{child.key}") and {its} ("{root.key}")'
                return f"{same} {what} as the root pod group's {what}, {got}"
        fault = _group_unlike(root, child)
        if fault is not None:
            return fault
    return None
