"""The shape of a Pod: everything about it that decides which nodes it can have and which it likes.

Pods of one shape are alike for filters and scores, and are placed together.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from domain.host_ports import ANY_ADDRESS, HostPort
from domain.peers import PREFERRED, REQUIRED, Peer, SpreadConstraint, peer_of, spread_of
from domain.resources import CPU, MEMORY, PODS, UNSTATED, Amount, at_rest, effective_requests, is_sidecar
from domain.selectors import Preference, Term, term_of
from domain.taints import Toleration, toleration_of


class PodShape(msgspec.Struct, frozen=True, kw_only=True, gc=False, array_like=True, cache_hash=True):
    """What filters and scores read of a Pod; equal shapes are interchangeable.

    `requests` are sorted by resource, without zeros and without the slot (`pods`) that every Pod
    takes. `scored_cpu` and `scored_memory` are what LeastAllocated counts, with defaults for
    containers that request none. `required` is None without required node affinity; else one of
    its terms must match. `images` has one name for each container, empty where it has none.

    `spread` are its topology spread constraints. `peer` is what rules of other Pods see of it and
    its rules for them; None where no rule is in play, so that Pods with different labels can share a
    shape. `node_name` asks for one node by name; a stored Pod that has one is bound, so shape_of
    never sets it.
    """

    requests: tuple[tuple[str, Amount], ...] = ()
    scored_cpu: Amount = 0
    scored_memory: Amount = 0
    tolerations: tuple[Toleration, ...] = ()
    node_selector: tuple[tuple[str, str], ...] = ()
    required: tuple[Term, ...] | None = None
    preferred: tuple[Preference, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    images: tuple[str, ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()
    peer: Peer | None = None
    node_name: str | None = None

    def requested(self, resource: str) -> int:
        """How much of `resource` a Pod of this shape asks for, in base units."""
        return int(dict(self.requests).get(resource, 0))


def shape_of(
    spec: Mapping[str, Any], namespace: str = "default", labels: Mapping[str, str] | None = None
) -> PodShape:
    """The shape of a Pod with the stored `spec`: canonical, with the API server's defaults.

    It has a `peer` only if the Pod itself has rules about others.
    """
    requests = effective_requests(spec)
    requests.pop(PODS, None)
    scored = effective_requests(spec, unstated=UNSTATED)
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get(REQUIRED)
    spread, peer = spread_of(spec, labels or {}), peer_of(spec, namespace, labels or {})
    return PodShape(
        requests=tuple((name, at_rest(amount)) for name, amount in requests.items()),
        scored_cpu=at_rest(scored.get(CPU, 0)),
        scored_memory=at_rest(scored.get(MEMORY, 0)),
        tolerations=tuple(sorted({toleration_of(one) for one in spec.get("tolerations") or ()})),
        node_selector=tuple(sorted((spec.get("nodeSelector") or {}).items())),
        required=None if required is None else tuple(map(term_of, required.get("nodeSelectorTerms") or ())),
        preferred=tuple(
            Preference(one["weight"], term_of(one["preference"])) for one in affinity.get(PREFERRED) or ()
        ),
        host_ports=tuple(sorted(set(_host_ports(spec)))),
        images=tuple(sorted(_image_name(container.get("image") or "") for container in _containers(spec))),
        spread=spread,
        peer=peer if spread or peer.terms is not None else None,
    )


def _containers(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]


def _host_ports(spec: Mapping[str, Any]) -> Iterator[HostPort]:
    """The ports of the node that containers and sidecars want."""
    sidecars = filter(is_sidecar, spec.get("initContainers") or ())
    for container in [*(spec.get("containers") or ()), *sidecars]:
        for port in container.get("ports") or ():
            if port.get("hostPort"):
                yield HostPort(
                    protocol=port.get("protocol") or "TCP",
                    port=port["hostPort"],
                    address=port.get("hostIP") or ANY_ADDRESS,
                )


def _image_name(image: str) -> str:
    """`image` with a tag, `latest` by default, as nodes report what they have."""
    return f"{image}:latest" if image and image.rfind(":") <= image.rfind("/") else image
