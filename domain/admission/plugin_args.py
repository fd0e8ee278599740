"""The arguments of plugins: what they say, and what ganger cannot follow.

Source: kube-scheduler 1.37, pkg/scheduler/apis/config, defaults and validation.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from domain.admission import faults
from domain.admission.kube_scheduler import (
    Args,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    ScoringStrategy,
    TopologySpreadConstraint,
    UtilizationShapePoint,
)
from domain.errors import Cause
from domain.profile import (
    CPU_AND_MEMORY,
    LEAST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    STRATEGIES,
    CurvePoint,
    DefaultConstraint,
    ScoredResource,
)

_NOT_HERE = "ganger does not support it"
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_DEFAULTING = ("System", "List")

Fields = dict[str, Any]
"""Values for fields of Profile."""


def fit(args: NodeResourcesFitArgs) -> Fields:
    """What NodeResourcesFit says of a profile."""
    strategy = args.scoring_strategy or ScoringStrategy(type=LEAST_ALLOCATED)
    ratio = strategy.requested_to_capacity_ratio
    return {
        "strategy": strategy.type,
        "resources": _scored(strategy.resources) or CPU_AND_MEMORY,
        "curve": tuple(
            CurvePoint(utilization=point.utilization or 0, score=point.score or 0)
            for point in (ratio and ratio.shape) or ()
        ),
    }


def fit_faults(args: NodeResourcesFitArgs, path: str) -> Iterator[Cause]:
    """Every fault of NodeResourcesFitArgs."""
    if args.ignored_resources:
        yield faults.forbidden(f"{path}.ignoredResources", _NOT_HERE)
    if args.ignored_resource_groups:
        yield faults.forbidden(f"{path}.ignoredResourceGroups", _NOT_HERE)
    strategy, path = args.scoring_strategy, f"{path}.scoringStrategy"
    if strategy is None:
        return
    if strategy.type not in STRATEGIES:
        yield faults.not_supported(f"{path}.type", strategy.type or "", STRATEGIES)
    for index, resource in enumerate(strategy.resources or ()):
        where = f"{path}.resources[{index}]"
        if not resource.name:
            yield faults.required(f"{where}.name")
        if not 0 <= (resource.weight or 0) <= 100:
            rule = f"resource weight of {resource.name} not in valid range (0, 100]"
            yield faults.invalid(f"{where}.weight", resource.weight, rule)
    ratio, path = strategy.requested_to_capacity_ratio, f"{path}.requestedToCapacityRatio"
    if strategy.type == REQUESTED_TO_CAPACITY_RATIO:
        if ratio is None:
            yield faults.required(path, "must be specified when type is RequestedToCapacityRatio")
        else:
            yield from _shape_faults(ratio.shape or (), f"{path}.shape")
    elif ratio is not None:
        yield faults.forbidden(path, "must be nil when type is not RequestedToCapacityRatio")


def _shape_faults(shape: Sequence[UtilizationShapePoint], path: str) -> Iterator[Cause]:
    if not shape:
        yield faults.required(path, "at least one point must be specified")
    before = None
    for index, point in enumerate(shape):
        utilization, score = point.utilization or 0, point.score or 0
        if before is not None and before >= utilization:
            rule = "values must be sorted in increasing order"
            yield faults.invalid(f"{path}[{index}].utilization", utilization, rule)
        before = utilization
        if not 0 <= utilization <= 100:
            rule = "not in valid range [0, 100]"
            yield faults.invalid(f"{path}[{index}].utilization", utilization, rule)
        if not 0 <= score <= 10:
            yield faults.invalid(f"{path}[{index}].score", score, "not in valid range [0, 10]")


def _scored(resources: Sequence[ResourceSpec] | None) -> tuple[ScoredResource, ...]:
    return tuple(ScoredResource(resource.name or "", resource.weight or 1) for resource in resources or ())


def affinity(args: InterPodAffinityArgs) -> Fields:
    """What InterPodAffinity says of a profile."""
    weight = args.hard_pod_affinity_weight
    return {"hard_pod_affinity_weight": 1 if weight is None else weight}


def affinity_faults(args: InterPodAffinityArgs, path: str) -> Iterator[Cause]:
    """Every fault of InterPodAffinityArgs."""
    if not 0 <= (args.hard_pod_affinity_weight or 0) <= 100:
        rule = "not in valid range [0, 100]"
        yield faults.invalid(f"{path}.hardPodAffinityWeight", args.hard_pod_affinity_weight, rule)
    if args.ignore_preferred_terms_of_existing_pods:
        yield faults.forbidden(f"{path}.ignorePreferredTermsOfExistingPods", _NOT_HERE)


def spread(args: PodTopologySpreadArgs) -> Fields:
    """What PodTopologySpread says of a profile."""
    return {
        "defaulting_type": args.defaulting_type or "System",
        "default_constraints": tuple(
            DefaultConstraint(
                max_skew=each.max_skew or 0,
                topology_key=each.topology_key or "",
                when_unsatisfiable=each.when_unsatisfiable or "",
            )
            for each in args.default_constraints or ()
        ),
    }


def spread_faults(args: PodTopologySpreadArgs, path: str) -> Iterator[Cause]:
    """Every fault of PodTopologySpreadArgs."""
    kind, constraints = args.defaulting_type or "System", args.default_constraints or []
    if kind not in _DEFAULTING:
        yield faults.not_supported(f"{path}.defaultingType", kind, _DEFAULTING)
    elif kind == "System" and constraints:
        rule = "must be List when .defaultConstraints are not empty"
        yield faults.invalid(f"{path}.defaultingType", kind, rule)
    seen = set()
    for index, constraint in enumerate(constraints):
        where = f"{path}.defaultConstraints[{index}]"
        yield from _constraint_faults(constraint, where)
        pair = (constraint.topology_key, constraint.when_unsatisfiable)
        if pair in seen:
            yield faults.duplicate(where, f"{{{pair[0]}, {pair[1]}}}")
        seen.add(pair)


def _constraint_faults(constraint: TopologySpreadConstraint, path: str) -> Iterator[Cause]:
    if (constraint.max_skew or 0) <= 0:
        yield faults.invalid(f"{path}.maxSkew", constraint.max_skew or 0, "not in valid range (0, inf)")
    if not constraint.topology_key:
        yield faults.required(f"{path}.topologyKey", "can not be empty")
    if not constraint.when_unsatisfiable:
        yield faults.required(f"{path}.whenUnsatisfiable", "can not be empty")
    elif constraint.when_unsatisfiable not in _ACTIONS:
        yield faults.not_supported(f"{path}.whenUnsatisfiable", constraint.when_unsatisfiable, _ACTIONS)
    if constraint.label_selector is not None:
        rule = "constraint must not define a selector, as they deduced for each pod"
        yield faults.forbidden(f"{path}.labelSelector", rule)
    others = {
        "minDomains": constraint.min_domains,
        "nodeAffinityPolicy": constraint.node_affinity_policy,
        "nodeTaintsPolicy": constraint.node_taints_policy,
        "matchLabelKeys": constraint.match_label_keys,
    }
    for field, value in others.items():
        if value is not None:
            yield faults.forbidden(f"{path}.{field}", _NOT_HERE)


def _nothing(_: Args) -> Fields:
    return {}


def _added_affinity_faults(args: NodeAffinityArgs, path: str) -> Iterator[Cause]:
    if args.added_affinity:
        yield faults.forbidden(f"{path}.addedAffinity", _NOT_HERE)


def _balance_faults(args: NodeResourcesBalancedAllocationArgs, path: str) -> Iterator[Cause]:
    names = sorted(resource.name or "" for resource in args.resources or ())
    if names and names != ["cpu", "memory"]:
        yield faults.invalid(f"{path}.resources", names, "must be cpu and memory: ganger balances no others")
    for index, resource in enumerate(args.resources or ()):
        if (resource.weight or 1) != 1:
            yield faults.invalid(f"{path}.resources[{index}].weight", resource.weight, "must be 1")


READERS: dict[str, tuple[type[Args], Callable[[Any], Fields], Callable[[Any, str], Iterator[Cause]]]] = {
    "NodeResourcesFit": (NodeResourcesFitArgs, fit, fit_faults),
    "InterPodAffinity": (InterPodAffinityArgs, affinity, affinity_faults),
    "PodTopologySpread": (PodTopologySpreadArgs, spread, spread_faults),
    "NodeAffinity": (NodeAffinityArgs, _nothing, _added_affinity_faults),
    "NodeResourcesBalancedAllocation": (NodeResourcesBalancedAllocationArgs, _nothing, _balance_faults),
}
"""By plugin: its struct, what that says of a profile, and what is wrong with it."""
