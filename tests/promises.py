"""What every decision keeps to, told from the State that it leaves."""

from collections.abc import Iterable

from books import fresh_attempt
from domain import events as ev
from domain.objects import POD_GROUP, Group
from domain.reducer import fold
from domain.scheduling.rules import rules_in_play
from domain.state import State


def check_started(state: State, groups: Iterable[str]) -> None:
    """The PodGroups, by key, of which a decision bound Pods have their minimum, and so has every group above
    them; where one has a topology constraint, all that runs below it is in one domain."""
    for key in groups:
        for above in state.root_of(key).groups:
            assert _has_started(state, above), f"{above.subject} has started below its minimum"
            _check_domain(state, above)


def _has_started(state: State, group: Group) -> bool:
    if group.kind == POD_GROUP:
        return len(state.members_of(group.key).bound) >= group.min_count
    children = state.forest.children(group.key)
    return sum(_has_started(state, child) for child in children) >= group.min_count


def _check_domain(state: State, group: Group) -> None:
    if group.topology_key is None:
        return
    leaves = state.leaves_of(group.kind, group.key)
    on = {str(state.pods[pod].node) for leaf in leaves for pod in state.members_of(leaf).bound}
    values = {state.nodes.facts(name).labels.get(group.topology_key) for name in on}
    assert len(values) == 1, f"{group.subject} runs in {values}"
    assert None not in values


def check_not_in_vain(state: State, attempt: ev.GroupAttempted, now: int) -> None:
    """Once the victims of `attempt`, which left `state`, have ended, and nothing else has changed, those for
    whom they went are bound, where they were nominated.

    There are three exceptions. Among rules about other Pods, a member that was promised nothing may have
    got a place, near somebody who was taken away for the rerun and then stayed, and so have kept others
    out. Below a topology constraint other domains look better than they did without their Pods, and
    what one group takes there is not there for the next. Members of a PodGroup that failed in the rerun
    are promised a place, too, and get none.
    """
    gone = state.copy()
    for key in attempt.victims:
        pod = gone.pods[key]
        deleted = ev.PodDeleted(key=key, uid=pod.uid, group=pod.group, node=pod.node)
        fold(gone, [ev.Event(gone.position + 1, now, deleted)])
    entity = gone.queue.entities.get(attempt.entity)
    if entity is None or entity.hold is not None:
        return
    waiting = list(gone.pending_of(entity))
    promised = {pod.key: pod.nominated for pod in waiting if pod.nominated is not None}
    if rules_in_play(gone, waiting) and len(promised) < len(waiting):
        return
    if not entity.is_pod and any(group.topology_key for group in gone.tree_of(entity).groups()):
        return
    again = fresh_attempt(gone, entity.name, now).payloads
    bound = {each.pod: each.node for each in again if isinstance(each, ev.PodBound)}
    assert bound, f"nobody of {entity.name} is bound, for whom {attempt.victims} went"
    if entity.is_pod or not gone.tree_of(entity).children:
        assert bound == promised
    else:
        assert bound.items() <= promised.items()
