"""The structs of kube-scheduler's configuration API, and the one key that ganger adds to it.

Source: k8s.io/kube-scheduler/config/v1, Kubernetes 1.37.
"""

from typing import Any

from domain.admission.structs import Int32, Int64, Opaque, Struct


class Plugin(Struct):
    name: str | None = None
    weight: Int32 | None = None


class PluginSet(Struct):
    enabled: list[Plugin] | None = None
    disabled: list[Plugin] | None = None


class Plugins(Struct):
    pre_enqueue: PluginSet | None = None
    queue_sort: PluginSet | None = None
    pre_filter: PluginSet | None = None
    filter: PluginSet | None = None
    post_filter: PluginSet | None = None
    pre_score: PluginSet | None = None
    score: PluginSet | None = None
    reserve: PluginSet | None = None
    permit: PluginSet | None = None
    pre_bind: PluginSet | None = None
    bind: PluginSet | None = None
    post_bind: PluginSet | None = None
    multi_point: PluginSet | None = None
    placement_generate: PluginSet | None = None
    placement_score: PluginSet | None = None
    placement_feasible: PluginSet | None = None
    pod_group_post_filter: PluginSet | None = None


class PluginConfig(Struct):
    name: str | None = None
    args: Opaque | None = None


class KubeSchedulerProfile(Struct):
    scheduler_name: str | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    percentage_of_placements_to_score: Int32 | None = None
    plugins: Plugins | None = None
    plugin_config: list[PluginConfig] | None = None


class Ganger(Struct):
    """What kube-scheduler has no field for."""

    retry: str | None = None
    siblings: str | None = None


class KubeSchedulerConfiguration(Struct):
    api_version: str | None = None
    kind: str | None = None
    parallelism: Int32 | None = None
    leader_election: dict[str, Any] | None = None
    client_connection: dict[str, Any] | None = None
    enable_profiling: bool | None = None
    enable_contention_profiling: bool | None = None
    delay_cache_until_active: bool | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    percentage_of_placements_to_score: Int32 | None = None
    pod_initial_backoff_seconds: Int64 | None = None
    pod_max_backoff_seconds: Int64 | None = None
    profiles: list[KubeSchedulerProfile] | None = None
    extenders: list[Any] | None = None
    ganger: Ganger | None = None


class Args(Struct):
    """The arguments of a plugin; `kind` is its name and `Args`."""

    api_version: str | None = None
    kind: str | None = None


class ResourceSpec(Struct):
    name: str | None = None
    weight: Int64 | None = None


class UtilizationShapePoint(Struct):
    utilization: Int32 | None = None
    score: Int32 | None = None


class RequestedToCapacityRatioParam(Struct):
    shape: list[UtilizationShapePoint] | None = None


class ScoringStrategy(Struct):
    type: str | None = None
    resources: list[ResourceSpec] | None = None
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


class NodeResourcesFitArgs(Args):
    ignored_resources: list[str] | None = None
    ignored_resource_groups: list[str] | None = None
    scoring_strategy: ScoringStrategy | None = None


class InterPodAffinityArgs(Args):
    hard_pod_affinity_weight: Int32 | None = None
    ignore_preferred_terms_of_existing_pods: bool | None = None


class TopologySpreadConstraint(Struct):
    max_skew: Int32 | None = None
    topology_key: str | None = None
    when_unsatisfiable: str | None = None
    label_selector: Opaque | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


class PodTopologySpreadArgs(Args):
    default_constraints: list[TopologySpreadConstraint] | None = None
    defaulting_type: str | None = None


class NodeAffinityArgs(Args):
    added_affinity: Opaque | None = None


class NodeResourcesBalancedAllocationArgs(Args):
    resources: list[ResourceSpec] | None = None
