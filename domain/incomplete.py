"""What Pods of an incomplete tree say, once they have waited for long enough (KEP-6012).

It is a function of the State and the time: no event is needed for a silence to end.
"""

from msgspec.structs import replace

from domain.forest import MOST_LEVELS, Chain, Flaw
from domain.objects import POD_GROUP, Condition, Pod
from domain.queue import Entity
from domain.state import State


def flaw_of(chain: Chain) -> str:
    """What is wrong with a way upward that leads to no root."""
    match chain.flaw:
        case Flaw.MISSING:
            assert chain.missing is not None
            kind, _, key = chain.missing.partition("/")
            called = "pod group" if kind == POD_GROUP else "composite pod group"
            return f"{called} {key} not found in workload forest"
        case Flaw.RING:
            names = [group.name for group in chain.groups]
            return f"cycle detected in hierarchy: {' -> '.join([*names, str(chain.groups[-1].parent)])}"
        case _:
            return f"hierarchy depth {len(chain.groups)} exceeds maximum tree depth {MOST_LEVELS}"


def speaks(entity: Entity, now: int) -> bool:
    """Whether the Pods of `entity` say at `now` that their tree is incomplete."""
    return entity.speaks_us is not None and now >= entity.speaks_us


def spoken(state: State, entity: Entity, pod: Pod) -> Condition:
    """PodScheduled of `pod`, which waits as `entity`, once that speaks."""
    assert pod.group is not None
    assert entity.speaks_us is not None
    before = pod.condition
    same = before is not None and before.status == "False"
    since = before.since if before is not None and same else max(entity.speaks_us, pod.queued_us)
    return Condition("False", "Unschedulable", flaw_of(state.root_of(pod.group)), since, pod.generation)


def as_of(state: State, pod: Pod, now: int) -> Pod:
    """`pod` with the condition that it has at `now`; `pod` itself where time changes nothing."""
    entity = None if pod.group is None else state.entity_of(pod)
    if entity is None or not speaks(entity, now):
        return pod
    return replace(pod, condition=spoken(state, entity, pod))
