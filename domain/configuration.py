"""The configuration in force as a KubeSchedulerConfiguration, as `domain.admission` reads it again."""

from typing import Any

from domain.admission.kinds import Kind
from domain.events import SchedulerConfigured
from domain.profile import FILTERS, REQUESTED_TO_CAPACITY_RATIO, SCORES, Profile
from domain.times import SECOND

CONFIGURATION = Kind(
    name="KubeSchedulerConfiguration",
    group="kubescheduler.config.k8s.io",
    versions=("v1",),
    plural="kubeschedulerconfigurations",
    short=(),
    namespaced=False,
)
"""No kind of object: a cluster has one configuration, which has no name."""

Manifest = dict[str, Any]


def configuration_of(config: SchedulerConfigured) -> Manifest:
    """`config` with everything spelt out. The key `ganger` has what kube-scheduler has no field for."""
    return {
        "apiVersion": CONFIGURATION.api_version,
        "kind": CONFIGURATION.name,
        "percentageOfNodesToScore": 100,
        "podInitialBackoffSeconds": _seconds(config.initial_backoff_us),
        "podMaxBackoffSeconds": _seconds(config.max_backoff_us),
        "profiles": [_profile(name, config.profile(name)) for name in config.scheduler_names],
        "ganger": {"retry": config.retry, "siblings": config.siblings},
    }


def _seconds(us: int) -> int | float:
    return us / SECOND if us % SECOND else us // SECOND


def _profile(scheduler: str, profile: Profile) -> Manifest:
    weights = {name: getattr(profile.weights, field) for name, field in SCORES.items()}
    return {
        "schedulerName": scheduler,
        "plugins": {
            "filter": _plugin_set(
                [{"name": name} for name in FILTERS if profile.filters_by(name)],
                list(profile.disabled_filters),
            ),
            "score": _plugin_set(
                [{"name": name, "weight": weight} for name, weight in weights.items() if weight],
                [name for name, weight in weights.items() if not weight],
            ),
        },
        "pluginConfig": [
            {"name": "NodeResourcesFit", "args": {"scoringStrategy": _strategy(profile)}},
            {"name": "PodTopologySpread", "args": _spreading(profile)},
            {
                "name": "InterPodAffinity",
                "args": {"hardPodAffinityWeight": profile.hard_pod_affinity_weight},
            },
        ],
    }


def _plugin_set(enabled: list[Manifest], disabled: list[str]) -> Manifest:
    given: Manifest = {"enabled": enabled, "disabled": [{"name": name} for name in disabled]}
    return {key: plugins for key, plugins in given.items() if plugins}


def _strategy(profile: Profile) -> Manifest:
    strategy: Manifest = {
        "type": profile.strategy,
        "resources": [{"name": each.name, "weight": each.weight} for each in profile.resources],
    }
    if profile.strategy == REQUESTED_TO_CAPACITY_RATIO:
        points = [{"utilization": point.utilization, "score": point.score} for point in profile.curve]
        strategy["requestedToCapacityRatio"] = {"shape": points}
    return strategy


def _spreading(profile: Profile) -> Manifest:
    spreading: Manifest = {"defaultingType": profile.defaulting_type}
    if profile.default_constraints:
        spreading["defaultConstraints"] = [
            {
                "maxSkew": each.max_skew,
                "topologyKey": each.topology_key,
                "whenUnsatisfiable": each.when_unsatisfiable,
            }
            for each in profile.default_constraints
        ]
    return spreading
