"""Whether a decision still holds on a log that has moved on since its snapshot.

Checked inside the transaction that commits it, so that no decision lands on a world it did not
see, and yet writers that touch other things never make the worker start again.
"""

from typing import TYPE_CHECKING

from msgspec import UNSET

from domain import events as ev
from domain.objects import COMPOSITE
from domain.state import State

if TYPE_CHECKING:
    from domain.scheduling.cycle import Decision


def stands(decision: "Decision", event: ev.Event, state: State) -> bool:
    """Whether `decision` may be committed after `event`, which came after its snapshot.

    `state` is that of the snapshot or a later one before the event.

    It may not if the event changed one of its Pods or one of the groups of its tree, took room on or
    changed a node it chose, changed a node that holds a group to its domain, changed one of its victims
    or what their rank and protection hang on, or configured the scheduler. New members and new groups
    of the tree come after the decision, unless they run already. With rules about other Pods in play,
    nothing may have changed that such a rule could look at.
    """
    if _brings_rules(event.payload, state) or (decision.rules and _matters_to_rules(event.payload)):
        return False
    match event.payload:
        case ev.PodAdded() as added:
            joins = _of_group(decision, added.group, added.node) or _joins_tree(decision, added, state)
            return added.node not in decision.nodes and not joins
        case ev.PodUpdated() as updated:
            takes_room = updated.object is not UNSET and updated.node in decision.nodes
            mine = _concerns(decision, updated.key, updated.group, updated.node)
            return not takes_room and not mine
        case ev.PodDeleted() as deleted:
            return not _concerns(decision, deleted.key, deleted.group, deleted.node)
        case ev.PodBound() as bound:
            return bound.node not in decision.nodes and bound.pod not in decision.pods
        case ev.PodNominated() | ev.PodEvicted() | ev.BindingFailed() as changed:
            return not _concerns(decision, changed.pod, changed.group, changed.node)
        case (
            ev.PodDisruptionBudgetAdded() | ev.PodDisruptionBudgetUpdated() | ev.PodDisruptionBudgetDeleted()
        ):
            return not decision.victims
        case ev.NodeUpdated() | ev.NodeDeleted() as changed:
            return changed.key not in decision.nodes and changed.key not in decision.anchors
        case (
            ev.PodGroupAdded()
            | ev.PodGroupUpdated()
            | ev.PodGroupDeleted()
            | ev.CompositePodGroupAdded()
            | ev.CompositePodGroupUpdated()
            | ev.CompositePodGroupDeleted()
        ) as changed:
            subject = f"{ev.kind_of(changed)}/{changed.key}"
            return subject not in decision.groups and not decision.victims
        case ev.SchedulerConfigured() | ev.GroupAttempted():
            return _other_attempt(decision, event.payload)
        case _:
            return True


def _concerns(decision: "Decision", pod: str, group: str | None, node: str | None) -> bool:
    return pod in decision.pods or pod in decision.victims or _of_group(decision, group, node)


def _of_group(decision: "Decision", group: str | None, node: str | None) -> bool:
    """A bound member of the group changed: the numbers of its quorum may have."""
    return group is not None and node is not None and f"PodGroup/{group}" in decision.groups


def _joins_tree(decision: "Decision", added: ev.PodAdded, state: State) -> bool:
    """Whether a Pod on a node is, or may be, in a group that came to the tree of the decision: it can hold
    the groups above it to its domain."""
    if added.group is None or added.node is None or not decision.attempt.entity.startswith(f"{COMPOSITE}/"):
        return False
    root = state.root_of(added.group).root
    return root is None or root.subject == decision.attempt.entity


def _other_attempt(decision: "Decision", payload: ev.SchedulerConfigured | ev.GroupAttempted) -> bool:
    return isinstance(payload, ev.GroupAttempted) and payload.entity != decision.attempt.entity


def _brings_rules(payload: ev.Payload, state: State) -> bool:
    """Whether a Pod that may keep others away was put on a node by somebody else.

    So may one that another worker bound and that came after `state`, since nothing is known of it.
    """
    match payload:
        case ev.PodBound() as bound:
            pod = state.pods.get(bound.pod)
            if pod is None or pod.uid != bound.uid:
                return True
            terms = pod.spec.peer.terms
            return terms is not None and bool(terms.anti_affinity)
        case ev.PodAdded() | ev.PodUpdated() as put if put.node is not None and put.object is not UNSET:
            return b'"podAntiAffinity"' in bytes(put.object)
        case _:
            return False


def _matters_to_rules(payload: ev.Payload) -> bool:
    """Whether a Pod on a node, a node or a namespace changed."""
    match payload:
        case ev.PodAdded() | ev.PodUpdated() | ev.PodDeleted():
            return payload.node is not None
        case ev.PodEvicted() | ev.BindingFailed() | ev.PodBound():
            return True
        case ev.NodeAdded() | ev.NodeUpdated() | ev.NodeDeleted():
            return True
        case ev.NamespaceAdded() | ev.NamespaceUpdated() | ev.NamespaceDeleted():
            return True
        case _:
            return False
