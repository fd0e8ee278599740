"""What can be asked of a cluster, as values: of a Book, a Cluster of a store, or anything like them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from domain.errors import Refused
from ganger_testing.manifests import Manifest, key_of

TOLERATION: Manifest = {"key": "dedicated", "operator": "Exists"}


class Target(Protocol):
    """What actions are done to."""

    def apply(self, manifests: Sequence[Manifest]) -> Any:
        """Create or update objects as one batch."""

    def delete(self, kind: str, key: str, *, grace: int | None = None) -> Any:
        """Delete an object."""

    def configure(self, document: Mapping[str, Any]) -> Any:
        """Configure the scheduler by a KubeSchedulerConfiguration."""

    def stored(self, kind: str, key: str) -> Manifest | None:
        """An object as it is."""


@dataclass(frozen=True)
class Apply:
    """Create objects, or update nodes and groups, by their whole manifests.

    Pods that are there are left out: hardly anything of theirs may change.
    """

    manifests: tuple[Manifest, ...]

    def on(self, target: Target) -> None:
        target.apply([each for each in self.manifests if not _is_pod_there(each, target)])


def _is_pod_there(manifest: Manifest, target: Target) -> bool:
    return manifest["kind"] == "Pod" and target.stored("Pod", key_of(manifest)) is not None


@dataclass(frozen=True)
class Delete:
    """Delete an object."""

    kind: str
    key: str
    grace: int | None = None

    def on(self, target: Target) -> None:
        target.delete(self.kind, self.key, grace=self.grace)


@dataclass(frozen=True)
class Change:
    """Change one thing of a Pod or PodGroup that is there."""

    kind: str
    key: str
    what: str
    value: Any = None

    def on(self, target: Target) -> None:
        found = target.stored(self.kind, self.key)
        if found is None:
            return
        changed = {**found, "metadata": {**found["metadata"]}, "spec": {**found["spec"]}}
        match self.what:
            case "ungate":
                changed["spec"].pop("schedulingGates", None)
            case "tolerate":
                changed["spec"]["tolerations"] = [*found["spec"].get("tolerations", ()), TOLERATION]
            case "release":
                changed["metadata"].pop("finalizers", None)
            case "phase":
                changed["status"] = {**found.get("status", {}), "phase": self.value}
            case "minCount":
                if "gang" not in found["spec"]["schedulingPolicy"]:
                    return
                changed["spec"]["schedulingPolicy"] = {"gang": {"minCount": self.value}}
        target.apply([changed])


@dataclass(frozen=True)
class Configure:
    """Configure the scheduler by a whole KubeSchedulerConfiguration."""

    document: Manifest

    def on(self, target: Target) -> None:
        target.configure(self.document)


Action = Apply | Delete | Change | Configure


def perform(action: Action, target: Target) -> bool:
    """Do `action`; whether it was taken, and not refused."""
    try:
        action.on(target)
    except Refused:
        return False
    return True


@dataclass(frozen=True)
class Wait:
    """Let time pass and the nodes act, and decide `cycles` times at most."""

    milliseconds: int
    cycles: int
