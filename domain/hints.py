"""Queueing hints: whom of those that sleep a change could help.

A refused entity sleeps until the verdict could be another one. Its wish says what for: its shapes and
the kind of change (`Stir`). A change that happens on one node can matter only to shapes that could be
on this node, were it empty: nobody else would look at it, not even to preempt. If its Pods are alike
it needs more room, that is more of what the node would run out of with all of them on it. Otherwise,
the choice for one Pod can decide about the next, so that anything counts that changes a score. Rules
about other Pods see more; what cannot be told of them wakes. Source: the hints of kube-scheduler
1.37's plugins, and for groups docs/decisions/0008-no-attempt-without-a-reason.md.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from domain.host_ports import collide
from domain.node_facts import NodeFacts
from domain.objects import PodSpec
from domain.peers import Peer, near, spread_over
from domain.queue import Stir, Wish
from domain.resources import PODS
from domain.scheduling.eligibility import could_have
from domain.shapes import PodShape
from domain.state import State

# Pods on nodes


def pod_left(state: State, node: str, spec: PodSpec, position: int) -> None:
    """A Pod is not on `node` any more, or not nominated to it."""
    queue = state.queue
    if spec.peer.terms is not None:  # whom it kept away may come, and not only to this node
        queue.stir(Stir.ROOM, position)
        return
    queue.note(Stir.ROOM, position)
    if not queue.anyone_sleeps:
        return
    promise_changed(state, node, position)
    if node not in state.nodes:
        return
    facts = state.nodes.facts(node)
    freed = {PODS: 1, **{resource: int(amount) for resource, amount in spec.shape.requests}}
    before = _free_before(state, facts, freed)
    for wish in queue.wishes():
        beyond = None
        for shape in wish.shapes:
            if _could(state, facts, shape):
                ports = collide(spec.shape.host_ports, shape.host_ports)
                beyond = _least(beyond, 0 if ports else _had_room_for(shape, before))
        if wish.stir is not Stir.ROOM:
            beyond = _least(beyond, _moved(state, wish, facts, spec.peer))
        if beyond is not None:
            queue.wake(wish, position, beyond=beyond)


def pod_came(state: State, node: str, spec: PodSpec, position: int) -> None:
    """A Pod is on `node` now, or nominated to it."""
    queue = state.queue
    if spec.peer.terms is not None:
        queue.stir(Stir.MOVE, position)
        return
    queue.note(Stir.MOVE, position)
    if not queue.anyone_sleeps or node not in state.nodes:
        return
    facts = state.nodes.facts(node)
    for wish in queue.wishes(Stir.MOVE):
        if (beyond := _moved(state, wish, facts, spec.peer)) is not None:
            queue.wake(wish, position, beyond=beyond)


def pod_changed(state: State, node: str, before: PodSpec, after: PodSpec, position: int) -> None:
    """A Pod on `node` has another manifest."""
    if before.priority != after.priority or before.peer.terms != after.peer.terms:
        state.queue.stir(Stir.ROOM, position)
    elif _use(before.shape) != _use(after.shape):
        pod_left(state, node, before, position)
        pod_came(state, node, after, position)
    elif before.peer != after.peer:
        _seen(state, (before.peer, after.peer), position)


def pod_ends(state: State, spec: PodSpec, position: int) -> None:
    """The deletion of a Pod on a node began: only spreading does not count it any more."""
    _seen(state, (spec.peer,), position)


def promise_changed(state: State, node: str, position: int) -> None:
    """Wake those that were promised room on `node`: their preemption may be over, or in vain."""
    for key in state.nominated:
        pod = state.pods[key]
        if pod.nominated == node and (entity := state.entity_of(pod)) is not None:
            state.queue.rouse(entity.name, position)


def _seen(state: State, peers: tuple[Peer, ...], position: int) -> None:
    queue = state.queue
    queue.note(Stir.RULE, position)
    for wish in queue.wishes(Stir.RULE):
        found = None
        for peer in peers:
            found = _least(found, _sees(state, wish, peer))
        if found is not None:
            queue.wake(wish, position, beyond=found)


# Nodes


def node_came(state: State, node: str, position: int) -> None:
    """There is a node `node` now."""
    if state.nodes.crowd.terms_on(node):
        state.queue.stir(Stir.MOVE, position)
    _node_changed(state, None, state.nodes.facts(node), position)


def node_changed(state: State, before: NodeFacts, position: int) -> None:
    """What is known of a node differs from `before`, if it does."""
    after = state.nodes.facts(before.name)
    if after == before:
        return
    if after.labels != before.labels and state.nodes.crowd.terms_on(before.name):
        state.queue.stir(Stir.ROOM, position)  # whom Pods there keep away is kept away elsewhere
    _node_changed(state, before, after, position)


def node_went(state: State, node: str, position: int) -> None:
    """There is no node `node` any more."""
    promise_changed(state, node, position)
    # What ran there keeps nobody away from its zone any more.
    kept_away = state.nodes.crowd.terms_on(node)
    state.queue.stir(Stir.ROOM if kept_away else Stir.MOVE, position)


def _node_changed(state: State, before: NodeFacts | None, after: NodeFacts, position: int) -> None:
    queue = state.queue
    queue.note(Stir.ROOM, position)
    promise_changed(state, after.name, position)
    relabelled = before is not None and before.labels != after.labels
    for wish in queue.wishes():
        now = [shape for shape in wish.shapes if _could(state, after, shape)]
        if wish.stir is Stir.ROOM:
            opened = relabelled and state.has_terms  # it may be in another zone
            helps = bool(now) and (opened or any(_gained(state, shape, before, after) for shape in now))
        elif wish.stir is Stir.MOVE:
            # Images are scored by how many of all nodes have them.
            counted = before is None or before.images != after.images
            helps = counted or bool(now) or _any_could_have(state, before, wish)
        else:
            helps = True
        if helps:
            queue.wake(wish, position)


def _could(state: State, node: NodeFacts, shape: PodShape) -> bool:
    """Whether a Pod of `shape` could be on `node` if nothing else were there, by whatever profile."""
    return could_have(node, shape, state.config.disabled_somewhere)


def _any_could_have(state: State, node: NodeFacts | None, wish: Wish) -> bool:
    return node is not None and any(_could(state, node, shape) for shape in wish.shapes)


def _gained(state: State, shape: PodShape, before: NodeFacts | None, after: NodeFacts) -> bool:
    """Whether a node that can have `shape` could not, or had less of what it wants."""
    if before is None or not _could(state, before, shape):
        return True
    return any(
        int(after.allocatable.get(resource, 0)) > int(before.allocatable.get(resource, 0))
        for resource in (PODS, *dict(shape.requests))
    )


# What a node has room for


def _free_before(state: State, facts: NodeFacts, freed: Mapping[str, int]) -> dict[str, int]:
    """What was free on a node of all that has been `freed` there; negative where it had too little.

    Nominated Pods count, whoever they are.
    """
    used = state.nodes.used(facts.name)
    shapes = [pod.spec.shape for key in state.nominated if (pod := state.pods[key]).nominated == facts.name]
    for shape in shapes:
        for resource, amount in ((PODS, 1), *shape.requests):
            used[resource] = used.get(resource, 0) + int(amount)
    return {
        resource: int(facts.allocatable.get(resource, 0)) - used.get(resource, 0) - amount
        for resource, amount in freed.items()
    }


def _had_room_for(shape: PodShape, free: Mapping[str, int]) -> int:
    """For how many Pods of `shape` there was enough of each resource in `free`."""
    fits = free[PODS]
    for resource, amount in shape.requests:
        if resource in free:
            fits = min(fits, free[resource] // int(amount))
    return max(fits, 0)


def _use(shape: PodShape) -> PodShape:
    """What a Pod of `shape` takes of its node, whatever it wants of nodes and other Pods."""
    return PodShape(
        requests=shape.requests,
        scored_cpu=shape.scored_cpu,
        scored_memory=shape.scored_memory,
        host_ports=shape.host_ports,
    )


# What choices and rules see


def _moved(state: State, wish: Wish, facts: NodeFacts, peer: Peer) -> int | None:
    """How many Pods an entity with `wish` may have and not mind a change of what is on a node.

    `peer` is the Pod that came or went; None if nobody minds. A single Pod does not mind scores, but
    while someone has rules for others, it may evict whom it finds on the node, and so end them. Groups that
    choose a domain one after the other mind whatever is in use in one.
    """
    if wish.stir is Stir.RULE and (found := _sees(state, wish, peer)) is not None:
        return found
    if any(key in facts.labels for key in wish.keys):
        return 0
    if not _any_could_have(state, facts, wish):
        return None
    return 0 if state.has_terms else 1


def _sees(state: State, wish: Wish, peer: Peer) -> int | None:
    """As `_moved`, for the rules about other Pods alone."""
    found = None
    for shape in wish.shapes:
        if _requires(state, shape, peer):
            return 0
        if _prefers(state, shape, peer):
            found = 1
    return found


def _requires(state: State, shape: PodShape, peer: Peer) -> bool:
    """Whether a rule that `shape` must follow is about Pods like `peer`."""
    own = shape.peer
    if own is None:
        return False
    namespaces = state.nodes.crowd.namespaces
    terms = () if own.terms is None else (*own.terms.affinity, *own.terms.anti_affinity)
    return any(near(term, peer, namespaces) for term in terms) or _spreads(shape, peer, hard=True)


def _prefers(state: State, shape: PodShape, peer: Peer) -> bool:
    """Whether a preference of `shape` is about Pods like `peer`."""
    own = shape.peer
    if own is None:
        return False
    namespaces = state.nodes.crowd.namespaces
    wishes = () if own.terms is None else own.terms.preferred
    return any(near(wish.term, peer, namespaces) for wish in wishes) or _spreads(shape, peer, hard=False)


def _spreads(shape: PodShape, peer: Peer, *, hard: bool) -> bool:
    """Whether constraints count Pods like `peer`, at least until their deletion began."""
    assert shape.peer is not None
    stays = replace(peer, leaving=False)
    return any(
        spread_over(constraint, shape.peer.namespace, stays)
        for constraint in shape.spread
        if constraint.hard is hard
    )


def _least(one: int | None, other: int | None) -> int | None:
    """The smaller number; None is none."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
