"""Profiles made up for the placement tests."""

from hypothesis import strategies as st

from domain.profile import (
    CPU_AND_MEMORY,
    FILTERS,
    STRATEGIES,
    CurvePoint,
    Profile,
    ScoredResource,
    Weights,
)

_WEIGHT = st.integers(0, 100)


def curves() -> st.SearchStrategy[tuple[CurvePoint, ...]]:
    """Broken lines for RequestedToCapacityRatio: at least one point, utilizations rising."""
    points = st.dictionaries(st.integers(0, 100), st.integers(0, 10), min_size=1, max_size=5)
    return points.map(
        lambda scores: tuple(
            CurvePoint(utilization=utilization, score=scores[utilization]) for utilization in sorted(scores)
        )
    )


def profiles() -> st.SearchStrategy[Profile]:
    """Profiles of all kinds, in which any filter may be off and any score count for nothing."""
    names = st.sampled_from(
        ["cpu", "memory", "pods", "ephemeral-storage", "nvidia.com/gpu", "example.com/none"]
    )
    resources = st.lists(st.builds(ScoredResource, names, st.integers(1, 100)), min_size=1, max_size=4)
    return st.builds(
        Profile,
        curve=curves(),
        disabled_filters=st.sets(st.sampled_from(FILTERS)).map(
            lambda off: tuple(filter(off.__contains__, FILTERS))
        ),
        hard_pod_affinity_weight=_WEIGHT,
        resources=st.just(CPU_AND_MEMORY) | resources.map(tuple),
        strategy=st.sampled_from(STRATEGIES),
        weights=st.builds(Weights, **dict.fromkeys(Weights.__struct_fields__, _WEIGHT)),
    )
