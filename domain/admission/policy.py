"""The structs of the policy API. Source: k8s.io/api/policy/v1, Kubernetes 1.37."""

from domain.admission.meta import LabelSelector, Object
from domain.admission.structs import Int32, Int64, IntOrString, Opaque, Struct, Time


class PodDisruptionBudgetSpec(Struct):
    min_available: IntOrString | None = None
    selector: LabelSelector | None = None
    max_unavailable: IntOrString | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Struct):
    observed_generation: Int64 | None = None
    disrupted_pods: dict[str, Time] | None = None
    disruptions_allowed: Int32 | None = None
    current_healthy: Int32 | None = None
    desired_healthy: Int32 | None = None
    expected_pods: Int32 | None = None
    conditions: list[Opaque] | None = None


class PodDisruptionBudget(Object):
    spec: PodDisruptionBudgetSpec | None = None
    status: PodDisruptionBudgetStatus | None = None
