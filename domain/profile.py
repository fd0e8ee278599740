"""The profile by which a scheduler filters and scores nodes.

Every name is that of kube-scheduler's configuration API, kubescheduler.config.k8s.io/v1. A field at
its default is left out of the bytes, so that the default profile is `{}`.
"""

import msgspec

from domain.resources import CPU, MEMORY, PODS

DEFAULT_SCHEDULER = "default-scheduler"
"""The scheduler of whoever names none."""

FILTERS = (
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "PodTopologySpread",
    "InterPodAffinity",
)
"""The filters of the default profile, in its order."""

LEAST_ALLOCATED = "LeastAllocated"
MOST_ALLOCATED = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"
STRATEGIES = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)


class Setting(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """Base of all parts of a profile; fields stand in the order of their names on the wire."""


class Weights(Setting, frozen=True, kw_only=True):
    """What a point of each plugin counts in the total; 0 for a score that is off.

    Source: kube-scheduler 1.37, default profile.
    """

    balanced_allocation: int = 1
    image_locality: int = 1
    inter_pod_affinity: int = 2
    node_affinity: int = 2
    node_resources_fit: int = 1
    pod_topology_spread: int = 2
    taint_toleration: int = 3


SCORES = {
    "TaintToleration": "taint_toleration",
    "NodeAffinity": "node_affinity",
    "NodeResourcesFit": "node_resources_fit",
    "PodTopologySpread": "pod_topology_spread",
    "InterPodAffinity": "inter_pod_affinity",
    "NodeResourcesBalancedAllocation": "balanced_allocation",
    "ImageLocality": "image_locality",
}
"""The scores of the default profile, in its order, with their fields of Weights."""


class ScoredResource(Setting, frozen=True):
    """A resource that NodeResourcesFit scores, and what it counts among the others."""

    name: str
    weight: int = 1


class CurvePoint(Setting, frozen=True, kw_only=True):
    """A point of RequestedToCapacityRatio's broken line: `score` 0 to 10, `utilization` in percent."""

    score: int
    utilization: int


class DefaultConstraint(Setting, frozen=True, kw_only=True):
    """A spread constraint for Pods that have none and that a Service or a set selects."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str


CPU_AND_MEMORY = (ScoredResource(CPU), ScoredResource(MEMORY))


class Profile(Setting, frozen=True, kw_only=True):
    """How one scheduler chooses nodes.

    `disabled_filters` are names of FILTERS, in their order. `strategy` is how NodeResourcesFit scores
    `resources`, with `curve` for RequestedToCapacityRatio. The default constraints are only kept: they
    are for Pods of Services and sets, which do not exist here.
    """

    curve: tuple[CurvePoint, ...] = ()
    default_constraints: tuple[DefaultConstraint, ...] = ()
    defaulting_type: str = "System"
    disabled_filters: tuple[str, ...] = ()
    hard_pod_affinity_weight: int = 1
    resources: tuple[ScoredResource, ...] = CPU_AND_MEMORY
    strategy: str = LEAST_ALLOCATED
    weights: Weights = Weights()

    @property
    def other_resources(self) -> list[str]:
        """What is scored beside cpu and memory; the number of Pods never is."""
        return [each.name for each in self.resources if each.name not in (CPU, MEMORY, PODS)]

    def filters_by(self, plugin: str) -> bool:
        """Whether the filter `plugin` is on."""
        return plugin not in self.disabled_filters


DEFAULT_PROFILE = Profile()
