"""The structs of the core API: Pod, Node, Namespace. Source: k8s.io/api/core/v1, Kubernetes 1.37."""

from pydantic import Field

from domain.admission.meta import LabelSelector, Object
from domain.admission.structs import Int32, Int64, Opaque, ResourceList, Strings, Struct, Time


class PodSchedulingGroup(Struct):
    pod_group_name: str | None = None


class PodSchedulingGate(Struct):
    name: str | None = None


class Toleration(Struct):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: Int64 | None = None


class ResourceRequirements(Struct):
    limits: ResourceList | None = None
    requests: ResourceList | None = None
    claims: list[Opaque] | None = None


class ContainerPort(Struct):
    name: str | None = None
    host_port: Int32 | None = None
    container_port: Int32 | None = None
    protocol: str | None = None
    host_ip: str | None = Field(default=None, alias="hostIP")


class EnvVar(Struct):
    name: str | None = None
    value: str | None = None
    value_from: Opaque = None


class VolumeMount(Struct):
    name: str | None = None
    read_only: bool | None = None
    recursive_read_only: str | None = None
    mount_path: str | None = None
    sub_path: str | None = None
    mount_propagation: str | None = None
    sub_path_expr: str | None = None


class Container(Struct):
    name: str | None = None
    image: str | None = None
    command: list[str] | None = None
    args: list[str] | None = None
    working_dir: str | None = None
    ports: list[ContainerPort] | None = None
    env_from: list[Opaque] | None = None
    env: list[EnvVar] | None = None
    resources: ResourceRequirements | None = None
    resize_policy: list[Opaque] | None = None
    restart_policy: str | None = None
    restart_policy_rules: list[Opaque] | None = None
    volume_mounts: list[VolumeMount] | None = None
    volume_devices: list[Opaque] | None = None
    liveness_probe: Opaque = None
    readiness_probe: Opaque = None
    startup_probe: Opaque = None
    lifecycle: Opaque = None
    termination_message_path: str | None = None
    termination_message_policy: str | None = None
    image_pull_policy: str | None = None
    security_context: Opaque = None
    stdin: bool | None = None
    stdin_once: bool | None = None
    tty: bool | None = None


class NodeSelectorRequirement(Struct):
    key: str | None = None
    operator: str | None = None
    values: list[str] | None = None


class NodeSelectorTerm(Struct):
    match_expressions: list[NodeSelectorRequirement] | None = None
    match_fields: list[NodeSelectorRequirement] | None = None


class NodeSelector(Struct):
    node_selector_terms: list[NodeSelectorTerm] | None = None


class PreferredSchedulingTerm(Struct):
    weight: Int32 | None = None
    preference: NodeSelectorTerm | None = None


class NodeAffinity(Struct):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: list[PreferredSchedulingTerm] | None = None


class PodAffinityTerm(Struct):
    label_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    topology_key: str | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class WeightedPodAffinityTerm(Struct):
    weight: Int32 | None = None
    pod_affinity_term: PodAffinityTerm | None = None


class PodAffinity(Struct):
    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None
    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] | None = None


class PodAntiAffinity(Struct):
    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None
    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] | None = None


class Affinity(Struct):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class TopologySpreadConstraint(Struct):
    max_skew: Int32 | None = None
    topology_key: str | None = None
    when_unsatisfiable: str | None = None
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


class PodSpec(Struct):
    volumes: list[Opaque] | None = None
    init_containers: list[Container] | None = None
    containers: list[Container] | None = None
    ephemeral_containers: list[Opaque] | None = None
    restart_policy: str | None = None
    termination_grace_period_seconds: Int64 | None = None
    active_deadline_seconds: Int64 | None = None
    dns_policy: str | None = None
    node_selector: Strings | None = None
    service_account_name: str | None = None
    service_account: str | None = None
    automount_service_account_token: bool | None = None
    node_name: str | None = None
    host_network: bool | None = None
    host_pid: bool | None = Field(default=None, alias="hostPID")
    host_ipc: bool | None = Field(default=None, alias="hostIPC")
    share_process_namespace: bool | None = None
    security_context: Opaque = None
    image_pull_secrets: list[Opaque] | None = None
    hostname: str | None = None
    subdomain: str | None = None
    affinity: Affinity | None = None
    scheduler_name: str | None = None
    tolerations: list[Toleration] | None = None
    host_aliases: list[Opaque] | None = None
    priority_class_name: str | None = None
    priority: Int32 | None = None
    dns_config: Opaque = None
    readiness_gates: list[Opaque] | None = None
    runtime_class_name: str | None = None
    enable_service_links: bool | None = None
    preemption_policy: str | None = None
    overhead: ResourceList | None = None
    topology_spread_constraints: list[TopologySpreadConstraint] | None = None
    set_hostname_as_fqdn: bool | None = Field(default=None, alias="setHostnameAsFQDN")
    os: Opaque = None
    host_users: bool | None = None
    scheduling_gates: list[PodSchedulingGate] | None = None
    resource_claims: list[Opaque] | None = None
    resources: ResourceRequirements | None = None
    hostname_override: str | None = None
    scheduling_group: PodSchedulingGroup | None = None
    eviction_responders: Opaque = None


class PodStatus(Struct):
    observed_generation: Int64 | None = None
    phase: str | None = None
    conditions: list[Opaque] | None = None
    message: str | None = None
    reason: str | None = None
    nominated_node_name: str | None = None
    host_ip: str | None = Field(default=None, alias="hostIP")
    host_ips: list[Opaque] | None = Field(default=None, alias="hostIPs")
    pod_ip: str | None = Field(default=None, alias="podIP")
    pod_ips: list[Opaque] | None = Field(default=None, alias="podIPs")
    start_time: Time | None = None
    init_container_statuses: list[Opaque] | None = None
    container_statuses: list[Opaque] | None = None
    qos_class: str | None = None
    ephemeral_container_statuses: list[Opaque] | None = None
    resize: str | None = None
    resource_claim_statuses: list[Opaque] | None = None
    extended_resource_claim_status: Opaque = None
    allocated_resources: ResourceList | None = None
    resources: ResourceRequirements | None = None


class Pod(Object):
    spec: PodSpec | None = None
    status: PodStatus | None = None

    @property
    def asked(self) -> PodSpec:
        """The spec, made where there is none."""
        if self.spec is None:
            self.spec = PodSpec()
        return self.spec


class Taint(Struct):
    key: str | None = None
    value: str | None = None
    effect: str | None = None
    time_added: Time | None = None


class NodeSpec(Struct):
    pod_cidr: str | None = Field(default=None, alias="podCIDR")
    pod_cidrs: list[str] | None = Field(default=None, alias="podCIDRs")
    provider_id: str | None = Field(default=None, alias="providerID")
    unschedulable: bool | None = None
    taints: list[Taint] | None = None
    config_source: Opaque = None
    external_id: str | None = Field(default=None, alias="externalID")


class ContainerImage(Struct):
    names: list[str] | None = None
    size_bytes: Int64 | None = None


class NodeStatus(Struct):
    capacity: ResourceList | None = None
    allocatable: ResourceList | None = None
    phase: str | None = None
    conditions: list[Opaque] | None = None
    addresses: list[Opaque] | None = None
    daemon_endpoints: Opaque = None
    node_info: Opaque = None
    images: list[ContainerImage] | None = None
    volumes_in_use: list[str] | None = None
    volumes_attached: list[Opaque] | None = None
    config: Opaque = None
    runtime_handlers: list[Opaque] | None = None
    features: Opaque = None
    declared_features: list[str] | None = None


class Node(Object):
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class NamespaceSpec(Struct):
    finalizers: list[str] | None = None


class NamespaceStatus(Struct):
    phase: str | None = None
    conditions: list[Opaque] | None = None


class Namespace(Object):
    spec: NamespaceSpec | None = None
    status: NamespaceStatus | None = None
