"""Why a shape fits nowhere, in numbers that a person can act on."""

from dataclasses import dataclass
from itertools import compress

import numpy as np

from domain.events import NodeReason, ResourceFinding
from domain.resources import Amount, at_rest
from domain.room import Room
from domain.roster import Mask
from domain.scheduling.evaluate import Evaluation, evaluate
from domain.scheduling.messages import fit_error
from domain.shapes import PodShape

_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What keeps a shape off every node of a room, as it was at one moment of a cycle.

    `message` is Kubernetes' text, without what preemption says; `nodes` are the reasons in the order
    of the filters; `requests` and `resources` are about what the shape asks for, sorted by name.
    `total` is the number of nodes, `resolvable` those of them where preemption may help.
    """

    message: str
    nodes: tuple[NodeReason, ...]
    requests: tuple[tuple[str, Amount], ...]
    resources: tuple[ResourceFinding, ...]
    total: int
    resolvable: frozenset[str]


def diagnose(room: Room, shape: PodShape) -> Diagnosis:
    """What keeps a Pod of `shape` off the nodes of `room` as it is."""
    evaluation = evaluate(room, shape)
    helpable = ~(evaluation.unresolvable | evaluation.feasible)
    return Diagnosis(
        message=fit_error(len(room), evaluation.counts(), evaluation.prefilter),
        nodes=_reasons(room, evaluation),
        requests=shape.requests,
        resources=tuple(_resource(room, name, asked) for name, asked in shape.requests),
        total=len(room),
        resolvable=frozenset(compress(room.names, helpable.tolist())),
    )


def _reasons(room: Room, evaluation: Evaluation) -> tuple[NodeReason, ...]:
    return tuple(
        NodeReason(
            count=int(np.count_nonzero(nodes)),
            examples=_first_names(room, nodes),
            filter=verdict.filter,
            preemption_may_help=bool(np.any(nodes & ~evaluation.unresolvable)),
            reason=reason,
        )
        for verdict in evaluation.verdicts
        for reason, nodes in verdict.reasons.items()
        if nodes.any()
    )


def _first_names(room: Room, nodes: Mask) -> tuple[str, ...]:
    return tuple(room.names[row] for row in np.flatnonzero(nodes)[:_EXAMPLES])


def _resource(room: Room, name: str, asked: Amount) -> ResourceFinding:
    """What is free of a resource over all nodes; nodes with more in use than they have count as full."""
    column = room.roster.column.get(name)
    free = [] if column is None else np.maximum(room.free(column), 0).tolist()
    return ResourceFinding(
        asked=asked,
        free_in_cluster=at_rest(sum(free)),
        free_on_best_node=at_rest(max(free, default=0)),
        name=name,
    )
