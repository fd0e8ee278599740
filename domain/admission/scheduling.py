"""The structs of the scheduling API. Source: k8s.io/api/scheduling, Kubernetes 1.37."""

from typing import ClassVar

from pydantic import Field

from domain.admission.meta import Object
from domain.admission.structs import Empty, Int32, Opaque, Struct


class SchedulingStruct(Struct):
    """A struct that each version of the scheduling API has its own of."""

    PACKAGE: ClassVar[str | None] = None


class BasicSchedulingPolicy(Empty):
    PACKAGE: ClassVar[str | None] = None


class GangSchedulingPolicy(SchedulingStruct):
    min_count: Int32 | None = None


class PodGroupSchedulingPolicy(SchedulingStruct):
    basic: BasicSchedulingPolicy | None = None
    gang: GangSchedulingPolicy | None = None


class CompositeBasicSchedulingPolicy(Empty):
    PACKAGE: ClassVar[str | None] = None


class CompositeGangSchedulingPolicy(SchedulingStruct):
    min_group_count: Int32 | None = None


class CompositePodGroupSchedulingPolicy(SchedulingStruct):
    basic: CompositeBasicSchedulingPolicy | None = None
    gang: CompositeGangSchedulingPolicy | None = None


class WorkloadReference(SchedulingStruct):
    workload_name: str | None = None
    template_name: str | None = None


class TopologyConstraint(SchedulingStruct):
    key: str | None = None


class PodGroupSchedulingConstraints(SchedulingStruct):
    topology: list[TopologyConstraint] | None = None


class CompositePodGroupSchedulingConstraints(SchedulingStruct):
    topology: list[TopologyConstraint] | None = None


class SingleDisruptionMode(Empty):
    PACKAGE: ClassVar[str | None] = None


class AllDisruptionMode(Empty):
    PACKAGE: ClassVar[str | None] = None


class DisruptionMode(SchedulingStruct):
    single: SingleDisruptionMode | None = None
    all_: AllDisruptionMode | None = Field(default=None, alias="all")


class PodGroupResourceClaim(SchedulingStruct):
    name: str | None = None
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodGroupSpec(SchedulingStruct):
    parent_composite_pod_group_name: str | None = None
    workload_ref: WorkloadReference | None = None
    scheduling_policy: PodGroupSchedulingPolicy | None = None
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    resource_claims: list[PodGroupResourceClaim] | None = None
    disruption_mode: DisruptionMode | None = None
    priority_class_name: str | None = None
    priority: Int32 | None = None
    preemption_policy: str | None = None


class PodGroupStatus(SchedulingStruct):
    conditions: list[Opaque] | None = None
    resource_claim_statuses: list[Opaque] | None = None


class PodGroup(Object):
    spec: PodGroupSpec | None = None
    status: PodGroupStatus | None = None

    @property
    def asked(self) -> PodGroupSpec:
        """The spec, made where there is none."""
        if self.spec is None:
            self.spec = PodGroupSpec()
        return self.spec


class CompositePodGroupSpec(SchedulingStruct):
    parent_composite_pod_group_name: str | None = None
    workload_ref: WorkloadReference | None = None
    scheduling_policy: CompositePodGroupSchedulingPolicy | None = None
    scheduling_constraints: CompositePodGroupSchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    priority_class_name: str | None = None
    priority: Int32 | None = None
    preemption_policy: str | None = None


class CompositePodGroupStatus(SchedulingStruct):
    conditions: list[Opaque] | None = None


class CompositePodGroup(Object):
    spec: CompositePodGroupSpec | None = None
    status: CompositePodGroupStatus | None = None

    @property
    def asked(self) -> CompositePodGroupSpec:
        """The spec, made where there is none."""
        if self.spec is None:
            self.spec = CompositePodGroupSpec()
        return self.spec


class PodGroupTemplate(SchedulingStruct):
    name: str | None = None
    scheduling_policy: PodGroupSchedulingPolicy | None = None
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    resource_claims: list[PodGroupResourceClaim] | None = None
    disruption_mode: DisruptionMode | None = None
    priority_class_name: str | None = None
    priority: Int32 | None = None
    preemption_policy: str | None = None


class CompositePodGroupTemplate(SchedulingStruct):
    name: str | None = None
    scheduling_policy: CompositePodGroupSchedulingPolicy | None = None
    scheduling_constraints: CompositePodGroupSchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    priority_class_name: str | None = None
    priority: Int32 | None = None
    preemption_policy: str | None = None
    pod_group_templates: list[PodGroupTemplate] | None = None
    composite_pod_group_templates: "list[CompositePodGroupTemplate] | None" = None


class TypedLocalObjectReference(SchedulingStruct):
    api_group: str | None = None
    kind: str | None = None
    name: str | None = None


class WorkloadSpec(SchedulingStruct):
    controller_ref: TypedLocalObjectReference | None = None
    pod_group_templates: list[PodGroupTemplate] | None = None
    composite_pod_group_templates: list[CompositePodGroupTemplate] | None = None


class Workload(Object):
    spec: WorkloadSpec | None = None

    @property
    def asked(self) -> WorkloadSpec:
        """The spec, made where there is none."""
        if self.spec is None:
            self.spec = WorkloadSpec()
        return self.spec


class PriorityClass(Object):
    value: Int32 | None = None
    global_default: bool | None = None
    description: str | None = None
    preemption_policy: str | None = None
