"""How the nodes stood for a Pod when its turn came: what filters and scores said of each."""

from collections.abc import Callable, Sequence

import numpy as np

from domain.amounts import quantity_of
from domain.explaining.again import Turn
from domain.explaining.node_names import compressed
from domain.explanation import AlikeNodes, Free, Look, NodeVerdict, Ruling, ScoredNode
from domain.profile import SCORES
from domain.roster import Mask
from domain.scheduling.evaluate import Evaluation, evaluate
from domain.scheduling.score import Scores, score

_PREFILTER = "NodeAffinity"
"""The only plugin that refuses a Pod before any node is looked at."""


def look(turn: Turn, *, every_node: bool) -> Look:
    """What was seen at `turn`; with `every_node` each node by itself, too."""
    room, shape = turn.room, turn.shape
    evaluation = evaluate(room, shape)
    rows = np.flatnonzero(evaluation.feasible)
    scored = _scored(turn, score(room, shape, rows)) if len(rows) else {}
    chosen = scored.get(turn.node or "")
    others = [each for each in scored.values() if each is not chosen]
    said = _Said(turn, evaluation)
    weights = room.profile.weights
    return Look(
        pod=turn.pod.name,
        requests={name: quantity_of(name, amount) for name, amount in shape.requests},
        where=turn.where,
        total_nodes=len(room),
        chosen=chosen,
        by=None if chosen is None else "nomination" if turn.pod.nominated == turn.node else "score",
        second_best=None if chosen is None else min(others, key=_rank, default=None),
        alike=said.alike(),
        weights={plugin: getattr(weights, field) for plugin, field in SCORES.items()},
        nodes=said.each(scored) if every_node else (),
    )


def _scored(turn: Turn, scores: Scores) -> dict[str, ScoredNode]:
    """The nodes that can take the Pod, by name, in the order of their names."""
    points = {plugin: getattr(scores, field).tolist() for plugin, field in SCORES.items()}
    names = turn.room.names
    return {
        names[row]: ScoredNode(
            node=names[row], scores={plugin: each[at] for plugin, each in points.items()}, total=total
        )
        for at, (row, total) in enumerate(zip(scores.rows.tolist(), scores.total.tolist(), strict=True))
    }


def _rank(scored: ScoredNode) -> tuple[int, str]:
    return (-scored.total, scored.node)


class _Said:
    """What the filters said of N nodes, and what these had left of what the Pod asks for."""

    def __init__(self, turn: Turn, evaluation: Evaluation) -> None:
        self._names = turn.room.names
        self._rulings = list(_rulings(evaluation, len(turn.room)))
        said = [mask for _, mask in self._rulings]
        self._said = np.array(said, dtype=np.bool_).reshape(len(said), len(self._names))
        self._hopeless = evaluation.unresolvable
        self._free = {name: _free(turn, name) for name, _ in turn.shape.requests}

    def alike(self) -> tuple[AlikeNodes, ...]:
        """The nodes by what was said of them: first those that can take the Pod, then the larger groups."""
        columns = np.concatenate([self._said, self._hopeless[np.newaxis]])
        by_verdict: dict[bytes, list[int]] = {}
        for row, column in enumerate(columns.T):
            by_verdict.setdefault(column.tobytes(), []).append(row)
        groups = [self._group(rows) for rows in by_verdict.values()]
        return tuple(sorted(groups, key=lambda group: (bool(group.verdict), -group.count, group.nodes)))

    def each(self, scored: dict[str, ScoredNode]) -> tuple[NodeVerdict, ...]:
        """Every node by itself, by name."""
        found = []
        for row, name in enumerate(self._names):
            points = scored.get(name)
            found.append(
                NodeVerdict(
                    node=name,
                    verdict=self._verdict(row),
                    free={each: quantity_of(each, free[row]) for each, free in self._free.items()},
                    scores=None if points is None else points.scores,
                    total=None if points is None else points.total,
                )
            )
        return tuple(found)

    def _group(self, rows: Sequence[int]) -> AlikeNodes:
        return AlikeNodes(
            nodes=compressed(self._names[row] for row in rows),
            count=len(rows),
            verdict=self._verdict(rows[0]),
            free=tuple(
                Free(name=name, least=self._least(min, name, rows), most=self._least(max, name, rows))
                for name in self._free
            ),
        )

    def _least(self, choose: Callable[[list[int]], int], name: str, rows: Sequence[int]) -> str:
        return quantity_of(name, choose([self._free[name][row] for row in rows]))

    def _verdict(self, row: int) -> tuple[Ruling, ...]:
        helps = not self._hopeless[row]
        return tuple(
            Ruling(filter=plugin, reason=reason, preemption_may_help=helps)
            for ((plugin, reason), _), said in zip(self._rulings, self._said[:, row], strict=True)
            if said
        )


def _rulings(evaluation: Evaluation, count: int) -> list[tuple[tuple[str, str], Mask]]:
    """Filters with their reasons, and the nodes they are said of."""
    if evaluation.prefilter is not None:
        return [((_PREFILTER, evaluation.prefilter), np.ones(count, dtype=np.bool_))]
    return [
        ((verdict.filter, reason), mask)
        for verdict in evaluation.verdicts
        for reason, mask in verdict.reasons.items()
    ]


def _free(turn: Turn, resource: str) -> list[int]:
    """What is left of a resource on each node; a node with more in use than it has counts as full."""
    room = turn.room
    column = room.roster.column.get(resource)
    if column is None:
        return [0] * len(room)
    return [max(int(amount), 0) for amount in room.free(column).tolist()]
