"""Which lists of which kinds a strategic merge patch merges, and by what.

A list that is not here is replaced as a whole, tolerations, taints and templates of groups among them.
Source: the struct tags patchStrategy and patchMergeKey of k8s.io/api, Kubernetes 1.37.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from domain.admission.kinds import (
    COMPOSITE_POD_GROUP,
    NAMESPACE,
    NODE,
    POD,
    POD_DISRUPTION_BUDGET,
    POD_GROUP,
    Kind,
)


@dataclass(frozen=True)
class Rule:
    """How a patch changes one field, and those `within` it.

    `key`: a list of objects, the same one if this field of theirs is equal. `is_set`: a list of scalars to
    which a patch adds. `replaced`: an object that a patch gives as a whole.
    """

    key: str | None = None
    is_set: bool = False
    replaced: bool = False
    within: "Rules" = field(default_factory=dict)


Rules: TypeAlias = Mapping[str, Rule]
"""By the names of fields; those that are not named have no rule."""

_SET: Final = Rule(is_set=True)
_METADATA: Final = Rule(within={"finalizers": _SET, "ownerReferences": Rule("uid")})
_CONDITIONS: Final = Rule("type")
_CONTAINERS: Final = Rule(
    "name",
    within={
        "env": Rule("name"),
        "ports": Rule("containerPort"),
        "volumeDevices": Rule("devicePath"),
        "volumeMounts": Rule("mountPath"),
    },
)

_KINDS: Final[Mapping[Kind, Rules]] = {
    POD: {
        "spec": Rule(
            within={
                "containers": _CONTAINERS,
                "ephemeralContainers": _CONTAINERS,
                "evictionResponders": Rule("name"),
                "hostAliases": Rule("ip"),
                "imagePullSecrets": Rule("name"),
                "initContainers": _CONTAINERS,
                "resourceClaims": Rule("name"),
                "schedulingGates": Rule("name"),
                "topologySpreadConstraints": Rule("topologyKey"),
                "volumes": Rule("name"),
            }
        ),
        "status": Rule(
            within={
                "conditions": _CONDITIONS,
                "hostIPs": Rule("ip"),
                "podIPs": Rule("ip"),
                "resourceClaimStatuses": Rule("name"),
            }
        ),
    },
    NODE: {
        "spec": Rule(within={"podCIDRs": _SET}),
        "status": Rule(within={"addresses": Rule("type"), "conditions": _CONDITIONS}),
    },
    NAMESPACE: {"status": Rule(within={"conditions": _CONDITIONS})},
    POD_GROUP: {
        "spec": Rule(within={"resourceClaims": Rule("name")}),
        "status": Rule(within={"conditions": _CONDITIONS, "resourceClaimStatuses": Rule("name")}),
    },
    COMPOSITE_POD_GROUP: {"status": Rule(within={"conditions": _CONDITIONS})},
    POD_DISRUPTION_BUDGET: {
        "spec": Rule(within={"selector": Rule(replaced=True)}),
        "status": Rule(within={"conditions": _CONDITIONS}),
    },
}


def rules_of(kind: Kind) -> Rules:
    """The rules of objects of `kind`."""
    return {"metadata": _METADATA, **_KINDS.get(kind, {})}
