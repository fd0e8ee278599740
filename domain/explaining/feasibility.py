"""Whether what was refused could be placed at all, as far as that can be shown."""

from typing import NamedTuple

from domain.explaining.exhaustive import missed, search
from domain.explaining.proof import infeasible
from domain.explanation import Spot
from domain.queue import Entity
from domain.state import State

INFEASIBLE = "infeasible"
NOT_FOUND = "notFound"


class Feasibility(NamedTuple):
    """`infeasible` with the argument `by` which that is shown, or `notFound`: then a placement may exist,
    and `missed` is one if it does and the scheduler does not find it."""

    proof: str
    by: str | None = None
    missed: tuple[Spot, ...] = ()


def feasibility(state: State, entity: Entity) -> Feasibility:
    """What is shown of `entity` in the cluster as it is, with all that runs staying where it is."""
    argument = infeasible(state, entity)
    if argument is not None:
        return Feasibility(INFEASIBLE, argument)
    searched = search(state, entity)
    if searched is None:
        return Feasibility(NOT_FOUND)
    if not searched.found:
        return Feasibility(INFEASIBLE, _exhausted(searched.steps))
    if not missed(state, entity, searched):
        return Feasibility(NOT_FOUND)
    spots = (Spot(pod=key.rpartition("/")[2], node=node) for key, node in searched.found)
    return Feasibility(NOT_FOUND, missed=tuple(spots))


def _exhausted(steps: int) -> str:
    if not steps:
        return "of what it needs nothing can be placed"
    if steps == 1:
        return "the one way to place a Pod of it was tried, and it does not get as far as needed"
    tried = f"all {steps} ways to place Pods of it, one after the other, were tried"
    return f"{tried}, and none gets as far as needed"
