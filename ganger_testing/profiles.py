"""Hypothesis strategies for how a scheduler chooses nodes: its profiles and whole configurations."""

from hypothesis import strategies as st

from domain.configuration import configuration_of
from domain.events import SchedulerConfigured
from domain.profile import (
    CPU_AND_MEMORY,
    FILTERS,
    STRATEGIES,
    CurvePoint,
    Profile,
    ScoredResource,
    Weights,
)
from domain.times import SECOND
from ganger_testing.manifests import Manifest

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


def configurations() -> st.SearchStrategy[Manifest]:
    """KubeSchedulerConfigurations for `default-scheduler` under which a cluster comes to rest: refused
    groups are not tried again by the clock."""
    seconds = st.integers(1, 20)
    made = st.builds(
        SchedulerConfigured,
        initial_backoff_us=seconds.map(lambda wait: wait * SECOND),
        max_backoff_us=seconds.map(lambda wait: (20 + wait) * SECOND),
        profiles=st.tuples(profiles()),
        siblings=st.sampled_from(["greedy", "lean"]),
    )
    return made.map(configuration_of)
