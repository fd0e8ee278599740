"""A cluster of plain objects, for the tests of admission: what `World` asks, and keeping the answers."""

from collections.abc import Mapping
from typing import Any

from domain.admission.admit import Admitted, apply, create, update
from domain.admission.deletion import Removal, delete
from domain.admission.kinds import kind_named
from domain.objects import PriorityClassFacts
from worker.clocks import START

NOW = START
BORN = "2026-01-01T00:00:00Z"

Manifest = dict[str, Any]


class Objects:
    """Objects by kind and key; the version of each counts its writes."""

    def __init__(self, *manifests: Manifest) -> None:
        self.stored: dict[tuple[str, str], Manifest] = {}
        self.versions: dict[tuple[str, str], int] = {}
        self.uids = 0
        for manifest in manifests:
            self.apply(manifest)

    def get(self, kind: str, key: str) -> Manifest | None:
        return self.stored.get((kind, key))

    def resource_version(self, kind: str, key: str) -> str | None:
        version = self.versions.get((kind, key))
        return None if version is None else str(version)

    def priority_classes(self) -> Mapping[str, PriorityClassFacts]:
        return {
            key: PriorityClassFacts(
                found["value"], found.get("globalDefault", False), found["preemptionPolicy"]
            )
            for (kind, key), found in self.stored.items()
            if kind == "PriorityClass"
        }

    def active_pods_of(self, group: str) -> bool:
        namespace, _, name = group.partition("/")
        return any(
            kind == "Pod"
            and found["metadata"]["namespace"] == namespace
            and found["spec"].get("schedulingGroup", {}).get("podGroupName") == name
            and found["status"]["phase"] not in ("Succeeded", "Failed")
            for (kind, _), found in self.stored.items()
        )

    def children_of(self, composite: str) -> bool:
        namespace, _, name = composite.partition("/")
        return any(
            kind in ("PodGroup", "CompositePodGroup")
            and found["metadata"]["namespace"] == namespace
            and found["spec"].get("parentCompositePodGroupName") == name
            for (kind, _), found in self.stored.items()
        )

    def create(self, manifest: Manifest, namespace: str | None = None) -> Admitted:
        return self._keep(create(self, manifest, namespace=namespace, now=NOW, uid=self._uid()))

    def update(self, manifest: Manifest, namespace: str | None = None) -> Admitted:
        return self._keep(update(self, manifest, namespace=namespace))

    def apply(self, manifest: Manifest, namespace: str | None = None) -> Admitted:
        return self._keep(apply(self, manifest, namespace=namespace, now=NOW, uid=self._uid()))

    def delete(self, kind: str, key: str, *, now: int = NOW, grace: int | None = None) -> Removal:
        removal = delete(self, kind_named(kind), key, now=now, grace=grace)
        self.take(removal)
        return removal

    def take(self, removal: Removal) -> None:
        where = removal.kind.name, removal.key
        if removal.object is None:
            del self.stored[where]
        else:
            self.stored[where] = removal.object

    def bind(self, key: str, node: str) -> None:
        """What a binding does to a Pod."""
        self.stored["Pod", key]["spec"]["nodeName"] = node

    def _keep(self, admitted: Admitted) -> Admitted:
        where = admitted.kind.name, admitted.key
        if admitted.change != "unchanged":
            self.versions[where] = self.versions.get(where, 0) + 1
        if admitted.gone:
            del self.stored[where]
        else:
            self.stored[where] = admitted.object
        return admitted

    def _uid(self) -> str:
        self.uids += 1
        return f"00000000-0000-4000-8000-{self.uids:012}"


def a_pod(name: str = "p", **spec: Any) -> Manifest:
    """A Pod of one container, with what `spec` says beside it."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "app"}], **spec},
    }


def a_pod_asking(requests: Manifest | None = None, limits: Manifest | None = None) -> Manifest:
    """A Pod whose only container has these requests and limits."""
    amounts = {"requests": requests, "limits": limits}
    return a_pod(containers=[{"name": "main", "image": "app", "resources": amounts}])


def a_group(name: str = "g", **spec: Any) -> Manifest:
    """A PodGroup, a gang of two unless `spec` says otherwise."""
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, **spec},
    }


def a_composite(name: str = "c", **spec: Any) -> Manifest:
    """A CompositePodGroup, a gang of two unless `spec` says otherwise."""
    defaults = {
        "workloadRef": {"workloadName": "w", "templateName": "t"},
        "schedulingPolicy": {"gang": {"minGroupCount": 2}},
    }
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": name},
        "spec": {**defaults, **spec},
    }


def a_workload(**spec: Any) -> Manifest:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": "w"},
        "spec": spec,
    }


def a_class(name: str = "x", value: int = 100, **fields: Any) -> Manifest:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **fields,
    }


def a_node(name: str = "n1", **fields: Any) -> Manifest:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, **fields}
