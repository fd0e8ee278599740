"""Nodes and Namespaces: their defaults and their faults.

Source: Kubernetes 1.37, pkg/apis/core/v1/defaults.go and pkg/apis/core/validation.
"""

from domain.admission import meta, names, resources
from domain.admission.core import Namespace, Node, NodeStatus
from domain.admission.kinds import NAMESPACE, NODE
from domain.admission.taints import taint_faults
from domain.errors import Cause


def set_defaults(node: Node) -> None:
    """What can be allocated is the capacity, unless the manifest says otherwise."""
    if node.status is None:
        node.status = NodeStatus()
    if node.status.allocatable is None:
        node.status.allocatable = dict(node.status.capacity or {})


def node_faults(node: Node) -> list[Cause]:
    """Every fault of a new Node."""
    return meta.meta_faults(NODE, node.meta) + _content_faults(node)


def node_update_faults(node: Node, old: Node) -> list[Cause]:
    """Every fault of an update of the Node `old` to `node`."""
    return meta.meta_update_faults(node.meta, old.meta) + _content_faults(node)


def namespace_faults(namespace: Namespace) -> list[Cause]:
    """Every fault of a new Namespace."""
    return meta.meta_faults(NAMESPACE, namespace.meta, names.label)


def namespace_update_faults(namespace: Namespace, old: Namespace) -> list[Cause]:
    """Every fault of an update of the Namespace `old` to `namespace`."""
    return meta.meta_update_faults(namespace.meta, old.meta)


def _content_faults(node: Node) -> list[Cause]:
    # The API server reports taints beneath metadata, where they once were an annotation.
    found = taint_faults("metadata.taints", (node.spec.taints if node.spec else None) or ())
    if node.status is not None:
        found += resources.node_faults("status.capacity", node.status.capacity)
        found += resources.node_faults("status.allocatable", node.status.allocatable)
    return found
