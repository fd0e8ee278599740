"""A batch in the making: objects admitted one after the other, each seeing those before it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from domain import events as ev
from domain.admission import admit
from domain.admission.configuration import read_configuration
from domain.admission.deletion import Removal, delete, ended, release
from domain.admission.kinds import COMPOSITE_POD_GROUP, POD, POD_GROUP, PRIORITY_CLASS, Kind
from domain.configuration import CONFIGURATION, configuration_of
from domain.envelope import canonical
from domain.manifests import read_priority_class
from domain.objects import TERMINAL_PHASES, Group, PriorityClassFacts
from domain.state import State
from worker.shown import as_shown, as_stored, body_of, counts_of, record_at, record_of, visible_of

Result = TypeVar("Result")


@dataclass(frozen=True)
class Outcome:
    """What became of one object of a request. `change` is `created`, `configured`, `unchanged`,
    `deleted` or `terminating`; `object` the manifest as admitted, None if it is gone."""

    kind: Kind
    key: str
    change: str
    object: dict[str, Any] | None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Request(Generic[Result]):
    """Something to be asked of a batch; with `dry_run` it leaves no trace in it."""

    admit: Callable[["Batch"], Result]
    dry_run: bool = False


@dataclass(frozen=True)
class Mark:
    """How far a batch had come: `count` payloads, and what had become of which objects."""

    count: int
    done: dict[tuple[str, str], dict[str, Any] | None]


@dataclass(frozen=True)
class Read:
    """An object as a user reads it, and without what only the fold knows of it."""

    shown: Mapping[str, Any]
    stored: Mapping[str, Any]


class Batch:
    """Collects the payloads of one request. It is the world that admission sees: the State, and
    what this batch has done to it so far.

    `manifest_at` reads the manifest that stands at a position of the log; `now` is in microseconds.
    """

    def __init__(
        self,
        state: State,
        manifest_at: Callable[[int], Mapping[str, Any]],
        *,
        now: int,
        new_uid: Callable[[], str],
    ) -> None:
        self.payloads: list[ev.Payload] = []
        self._state = state
        self._manifest_at = manifest_at
        self.now = now
        self._new_uid = new_uid
        self._done: dict[tuple[str, str], dict[str, Any] | None] = {}
        self._classes: dict[str, None] = {}  # the PriorityClasses that were ever touched, in order

    def mark(self) -> Mark:
        """A point to come back to."""
        return Mark(len(self.payloads), dict(self._done))

    def back_to(self, mark: Mark) -> None:
        """Undo whatever was done since `mark`."""
        del self.payloads[mark.count :]
        self._done = mark.done

    # What admission asks

    def get(self, kind: str, key: str) -> Mapping[str, Any] | None:
        """The object as it is after the batch so far; None if there is none."""
        if (kind, key) in self._done:
            return self._done[kind, key]
        record = visible_of(self._state, kind, key)
        if record is None:
            return None
        return as_stored(record, body_of(record, self._manifest_at))

    def resource_version(self, kind: str, key: str) -> str | None:
        """The position of the object's last change; None for one that this batch touched."""
        record = visible_of(self._state, kind, key)
        return None if record is None or (kind, key) in self._done else str(record.revision)

    def read(self, kind: str, key: str) -> Read | None:
        """The object after the batch so far, as it is read and as it is stored; None if there is none."""
        record = visible_of(self._state, kind, key)
        if record is None or (kind, key) in self._done:
            stored = self.get(kind, key)
            return None if stored is None else Read(stored, stored)
        manifest = body_of(record, self._manifest_at)
        count = counts_of(self._state, kind, [key]).get(key)
        shown = as_shown(record_at(self._state, record, self.now), manifest, count)
        return Read(shown, as_stored(record, manifest))

    def priority_classes(self) -> Mapping[str, PriorityClassFacts]:
        """All PriorityClasses by name."""
        classes = dict(self._state.priority_classes)
        for name in self._classes:
            if ("PriorityClass", name) in self._done:
                classes.pop(name, None)
                manifest = self._done["PriorityClass", name]
                if manifest is not None:
                    classes[name] = read_priority_class(msgspec.Raw(canonical(manifest)))
        return classes

    def active_pods_of(self, group_key: str) -> bool:
        """Whether some Pod that has not ended names the group."""
        members = self._state.members_of(group_key)
        touched = {key: manifest for (kind, key), manifest in self._done.items() if kind == "Pod"}
        for keys in (members.pending, members.bound, members.foreign):
            if any(key not in touched for key in keys):
                return True
        return any(
            manifest is not None and _is_active_member(manifest, group_key) for manifest in touched.values()
        )

    def children_of(self, composite_key: str) -> bool:
        """Whether some group names the composite as its parent, other than those above it: of a ring
        of parents, nobody keeps the others."""
        namespace, _, name = composite_key.partition("/")
        children = [
            (child.kind, child.key)
            for child in self._state.forest.children(composite_key)
            if (child.kind, child.key) not in self._done
        ]
        children += [
            (kind, key)
            for (kind, key), manifest in self._done.items()
            if kind in (POD_GROUP.name, COMPOSITE_POD_GROUP.name)
            and key.startswith(f"{namespace}/")
            and manifest is not None
            and manifest["spec"].get("parentCompositePodGroupName") == name
        ]
        above = self._above(composite_key) if children else ()
        return any(kind == POD_GROUP.name or key not in above for kind, key in children)

    def _above(self, composite_key: str) -> dict[str, None]:
        """The keys of the composites that are named above one, itself among them if that is a ring."""
        namespace, _, name = composite_key.partition("/")
        found: dict[str, None] = {}
        while (composite := self.get(COMPOSITE_POD_GROUP.name, f"{namespace}/{name}")) is not None:
            name = composite["spec"].get("parentCompositePodGroupName")
            if name is None or f"{namespace}/{name}" in found:
                break
            found[f"{namespace}/{name}"] = None
        return found

    # What a request does

    def create(self, manifest: dict[str, Any], *, namespace: str | None) -> Outcome:
        """Admit a new object. Raises a Refused if it is not taken."""
        return self._take(
            admit.create(self, manifest, namespace=namespace, now=self.now, uid=self._new_uid())
        )

    def replace(self, manifest: dict[str, Any], *, namespace: str | None) -> Outcome:
        """Replace an object that exists. Raises a Refused if that is not taken."""
        return self._take(admit.update(self, manifest, namespace=namespace))

    def replace_status(self, manifest: dict[str, Any], *, namespace: str | None) -> Outcome:
        """Replace an object's status. Raises a Refused if that is not taken."""
        return self._take(admit.update_status(self, manifest, namespace=namespace))

    def apply(self, manifest: dict[str, Any], *, namespace: str | None) -> Outcome:
        """Create an object or update it by its whole manifest."""
        return self._take(admit.apply(self, manifest, namespace=namespace, now=self.now, uid=self._new_uid()))

    def configure(self, document: Mapping[str, Any]) -> Outcome:
        """Configure the scheduler by a whole KubeSchedulerConfiguration. Raises Invalid, BadRequest."""
        read = read_configuration(document)
        changed = read.config != self._state.config
        if changed:
            self.payloads.append(read.config)
        return Outcome(
            CONFIGURATION,
            "",
            "configured" if changed else "unchanged",
            configuration_of(read.config),
            read.notes,
        )

    def delete(self, kind: Kind, key: str, *, grace: int | None = None) -> Outcome:
        """Delete an object as a user does: protection and grace hold."""
        return self._remove(delete(self, kind, key, now=self.now, grace=grace))

    def end_pod(self, key: str) -> Outcome:
        """The kubelet is done with a terminating Pod."""
        return self._remove(ended(self, key))

    def observe_pod(self, key: str, status: dict[str, Any]) -> None:
        """The kubelet reports `phase` and `startTime` of a Pod."""
        pod = self._state.pods[key]
        self.payloads.append(
            ev.PodUpdated(key=key, group=pod.group, node=pod.node, status=msgspec.Raw(canonical(status)))
        )
        if status["phase"] in TERMINAL_PHASES and pod.group in self._state.released:
            stored = as_stored(pod, self._manifest_at(pod.manifest))
            self._done["Pod", key] = {**stored, "status": status}
            self._release_group_of(stored)

    def _take(self, admitted: admit.Admitted) -> Outcome:
        kind, key = admitted.kind, admitted.key
        if admitted.gone:
            return self._remove(Removal(kind=kind, key=key, object=None))
        if admitted.change != "unchanged":
            known = (kind.name, key) in self._done or record_of(self._state, kind.name, key) is not None
            suffix = "Updated" if known and admitted.change != "created" else "Added"
            self._record(kind, key, admitted.object)
            self.payloads.append(_object_payload(kind, suffix, key, admitted.object))
            if kind is POD:
                self._release_group_of(admitted.object)
        return Outcome(kind, key, admitted.change, admitted.object, admitted.warnings)

    def _remove(self, removal: Removal) -> Outcome:
        kind, key = removal.kind, removal.key
        before = self.get(kind.name, key)
        assert before is not None
        if removal.object is not None:
            if removal.changed:
                self.payloads.append(self._marking(removal, before))
            self._record(kind, key, removal.object)
            return Outcome(kind, key, "terminating", removal.object)
        self._record(kind, key, None)
        self.payloads.append(_gone(kind, key, before))
        if kind is POD:
            self._release_group_of(before)
        elif kind in (POD_GROUP, COMPOSITE_POD_GROUP):
            self._release_parent_of(before)
        return Outcome(kind, key, "deleted", None)

    def _marking(self, removal: Removal, before: Mapping[str, Any]) -> ev.Payload:
        """A deletion that begins, or that has lost one of the finalizers which hold it up."""
        assert removal.object is not None
        fields: dict[str, Any] = {"key": removal.key}
        if removal.kind is POD:
            fields |= _pod_fields(before)
        if removal.object["metadata"].get("finalizers") == before["metadata"].get("finalizers"):
            fields["deletion"] = ev.Deletion(at=self.now, grace=removal.grace)
        else:
            fields["object"] = msgspec.Raw(canonical(removal.object))
        return ev.PAYLOADS[f"{removal.kind.name}Updated"](**fields)

    def _record(self, kind: Kind, key: str, manifest: dict[str, Any] | None) -> None:
        self._done[kind.name, key] = manifest
        if kind is PRIORITY_CLASS:
            self._classes[key] = None

    def _release_group_of(self, pod: Mapping[str, Any]) -> None:
        group = _group_of(pod)
        if group is not None:
            self._release(POD_GROUP, group)

    def _release_parent_of(self, group: Mapping[str, Any]) -> None:
        parent = group["spec"].get("parentCompositePodGroupName")
        if parent is not None:
            self._release(COMPOSITE_POD_GROUP, f"{group['metadata']['namespace']}/{parent}")

    def _release(self, kind: Kind, key: str) -> None:
        """Let go of a group that is being deleted, if nothing protects it any more."""
        record = record_of(self._state, kind.name, key)
        being_deleted = isinstance(record, Group) and record.deletion is not None
        if being_deleted or (kind.name, key) in self._done:
            removal = release(self, kind, key)
            if removal is not None:
                self._remove(removal)


def _is_active_member(pod: Mapping[str, Any], group: str) -> bool:
    return _group_of(pod) == group and pod.get("status", {}).get("phase") not in TERMINAL_PHASES


def _object_payload(kind: Kind, change: str, key: str, manifest: dict[str, Any]) -> ev.Payload:
    fields: dict[str, Any] = {"key": key, "object": msgspec.Raw(canonical(manifest))}
    if kind is POD:
        fields |= _pod_fields(manifest)
    return ev.PAYLOADS[f"{kind.name}{change}"](**fields)


def _gone(kind: Kind, key: str, manifest: Mapping[str, Any]) -> ev.Payload:
    fields: dict[str, Any] = {"key": key, "uid": manifest["metadata"]["uid"]}
    if kind is POD:
        fields |= _pod_fields(manifest)
    return ev.PAYLOADS[f"{kind.name}Deleted"](**fields)


def _pod_fields(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {"group": _group_of(manifest), "node": manifest["spec"].get("nodeName")}


def _group_of(pod: Mapping[str, Any]) -> str | None:
    """The key of the PodGroup that a Pod names; None if it names none."""
    name = pod["spec"].get("schedulingGroup", {}).get("podGroupName")
    return None if name is None else f"{pod['metadata']['namespace']}/{name}"
