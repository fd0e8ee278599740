"""What scheduling reads of a Node."""

from collections.abc import Mapping
from typing import Any

import msgspec

from domain.resources import Amount, amounts_of, at_rest
from domain.taints import Taint, taint_of


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True, gc=False, array_like=True):
    """The parts of a Node that filters and scores read. Equal Nodes give equal bytes.

    `allocatable` is by resource in base units, `pods` among them; `images` are sizes in bytes by
    every name that an image on the node has.
    """

    name: str
    labels: dict[str, str]
    allocatable: dict[str, Amount]
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    images: dict[str, int] = {}


def node_facts(manifest: Mapping[str, Any]) -> NodeFacts:
    """The facts of a stored Node."""
    metadata, spec, status = (manifest.get(part) or {} for part in ("metadata", "spec", "status"))
    allocatable = amounts_of(status.get("allocatable") or {})
    return NodeFacts(
        name=metadata["name"],
        labels=dict(sorted((metadata.get("labels") or {}).items())),
        allocatable={name: at_rest(amount) for name, amount in allocatable.items()},
        taints=tuple(map(taint_of, spec.get("taints") or ())),
        unschedulable=bool(spec.get("unschedulable")),
        images=dict(sorted(_images(status).items())),
    )


def _images(status: Mapping[str, Any]) -> dict[str, int]:
    return {
        name: image.get("sizeBytes") or 0
        for image in status.get("images") or ()
        for name in image.get("names") or ()
    }
