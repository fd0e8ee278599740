"""The domains that a group with a topology constraint could not have, one by one and in one line."""

from collections.abc import Sequence

from domain.amounts import quantity_of
from domain.events import GroupFinding, PlacementFinding
from domain.explanation import Placement

_SAID = 3


def placements_part(found: GroupFinding) -> tuple[Placement, ...]:
    """Why a group could not have each of the domains that were tried."""
    return tuple(
        Placement(
            group=found.group,
            key=str(found.topology_key),
            domain=each.domain,
            nodes=each.nodes,
            scheduled=each.scheduled,
            reason=each.reason,
            resource=each.resource or None,
            asked=quantity_of(each.resource, each.asked) if each.resource else None,
            free=quantity_of(each.resource, each.free) if each.resource else None,
        )
        for each in found.placements
    )


def domains_line(found: GroupFinding, *, where: str = "") -> str:
    """The domains that were tried, by reason, with the best of those that lack most often the same:
    `0/12 racks: 9 too few nvidia.com/gpu (best: rack-7, 56 free, 64 needed), 3 …`. With `where` they are
    those of a larger one (` in zone z1`)."""
    by_reason: dict[str, list[PlacementFinding]] = {}
    for each in found.placements:
        by_reason.setdefault(_lack(each), []).append(each)
    ranked = sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0]))
    told = [f"{len(alike)} {lack}{_best(alike)}" for lack, alike in ranked[:_SAID]]
    left = sum(len(alike) for _, alike in ranked[_SAID:])
    told += [f"{left} for other reasons"] if left else []
    return f"0/{len(found.placements)} {domains_of(str(found.topology_key))}{where}: {', '.join(told)}"


def best_domain(found: GroupFinding) -> PlacementFinding | None:
    """The domain that came nearest to taking the group, of equals the first; None if none was tried."""
    return min(found.placements, key=_nearness, default=None)


def domains_of(key: str) -> str:
    """What people call the domains of a label: `racks` of `example.com/rack`."""
    return f"{kind_of_domain(key)}s"


def kind_of_domain(key: str) -> str:
    """What people call one of the domains of a label: `rack` of `example.com/rack`."""
    return key.rpartition("/")[2]


def _lack(each: PlacementFinding) -> str:
    if not each.resource:
        return each.reason
    if int(each.free) < int(each.asked):
        return f"too few {each.resource}"
    return f"{each.resource} in pieces too small"


def _best(alike: Sequence[PlacementFinding]) -> str:
    best = min(alike, key=_nearness)
    if not best.resource:
        return ""
    free, asked = (quantity_of(best.resource, amount) for amount in (best.free, best.asked))
    return f" (best: {best.domain}, {free} free, {asked} needed)"


def _nearness(each: PlacementFinding) -> tuple[int, int, str]:
    return (-each.scheduled, -int(each.free), each.domain)
