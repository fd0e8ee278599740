"""Admission: a manifest becomes a complete object, or a refusal in Kubernetes' words.

The order is the API server's: decoding (BadRequest), defaults, priority admission (Forbidden),
validation (Invalid, every fault at once), conflicts (NotFound, AlreadyExists, Conflict); for an
update the conflicts come before validation. Time and uid are the caller's to give.
"""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import msgspec

from domain.admission import groups, kinds, meta, scope
from domain.admission.core import Pod
from domain.admission.faults import refusal
from domain.admission.kinds import Kind, kind_of
from domain.admission.meta import DEFAULT_NAMESPACE, Object, ObjectMeta
from domain.admission.rules import RULES
from domain.admission.structs import Struct, decode, unknown_fields
from domain.errors import BadRequest, Cause
from domain.objects import TERMINAL_PHASES, PriorityClassFacts
from domain.times import rfc3339

UNKNOWN_FIELD = "unknown field "
"""How the warning begins that names a field which nobody knows."""

Change = Literal["created", "configured", "unchanged"]


class World(Protocol):
    """What admission asks about the cluster as it is, the earlier items of the same batch included."""

    def get(self, kind: str, key: str) -> Mapping[str, Any] | None:
        """The object as stored, with the node it was bound to and the marks of its deletion."""

    def resource_version(self, kind: str, key: str) -> str | None:
        """The version of an object that a caller may have read last."""

    def priority_classes(self) -> Mapping[str, PriorityClassFacts]:
        """The PriorityClasses by name; the two that every cluster has need not be among them."""

    def active_pods_of(self, group: str) -> bool:
        """Whether some Pod that has not ended names the PodGroup of this key."""

    def children_of(self, composite: str) -> bool:
        """Whether some group names the CompositePodGroup of this key as its parent."""


class Admitted(msgspec.Struct, frozen=True, kw_only=True):
    """An object that was taken: complete, defaulted, its quantities canonical.

    `gone`: the update took the last finalizer of an object under deletion, which ends it.
    """

    kind: Kind
    key: str
    object: dict[str, Any]
    change: Change
    warnings: tuple[str, ...]
    gone: bool = False


def create(
    world: World, manifest: Mapping[str, Any], *, namespace: str | None, now: int, uid: str
) -> Admitted:
    """Take `manifest` as a new object. Raises a Refused if it cannot be one.

    It is born at `now` (microseconds) with `uid`, unless it says itself when and as what: then it
    was observed elsewhere. `namespace` is where the request goes, None: the default namespace.
    """
    kind = kind_of(manifest)
    return _create(world, kind, _decoded(kind, manifest), namespace=namespace, now=now, uid=uid)


def update(world: World, manifest: Mapping[str, Any], *, namespace: str | None) -> Admitted:
    """Replace an object by `manifest`. Raises a Refused if that cannot be.

    What admission or the scheduler filled in and the manifest leaves out stays. If the manifest
    names a resourceVersion, it must be the current one.
    """
    kind, made, key, stored = _existing(world, manifest, namespace)
    return _update(world, kind, made, key, stored, keep_protection=made.meta.finalizers is None)


def apply(
    world: World, manifest: Mapping[str, Any], *, namespace: str | None, now: int, uid: str
) -> Admitted:
    """Create the object, or replace it by the whole manifest; as create and update."""
    kind = kind_of(manifest)
    made = _decoded(kind, manifest)
    if not made.meta.name and made.meta.generate_name:
        raise BadRequest(f"from {made.meta.generate_name}: cannot use generate name with apply")
    key = _settle_namespace(kind, made.meta, namespace)
    stored = world.get(kind.name, key)
    if stored is None:
        return _create(world, kind, made, namespace=namespace, now=now, uid=uid)
    return _update(world, kind, made, key, stored, keep_protection=True)


def update_status(world: World, manifest: Mapping[str, Any], *, namespace: str | None) -> Admitted:
    """Replace the observed status of a Node, Pod or PodDisruptionBudget by that of `manifest`.

    The status of any other kind is what ganger decided, and stays. Raises as update does.
    """
    kind, made, key, stored = _existing(world, manifest, namespace)
    rules = RULES[kind.name]
    old = rules.read(stored)
    _check_identity(world, kind, key, made.meta, old.meta)
    warnings = _warnings(kind, made, made.dump())
    made_status = getattr(made, "status", None)
    made = rules.read(stored)
    if rules.observed:
        made.status = made_status
        rules.set_defaults(made)
    _refuse(kind, made.meta, rules.update_faults(made, old))
    return _admitted(world, kind, key, made, old, stored, warnings)


def _existing(
    world: World, manifest: Mapping[str, Any], namespace: str | None
) -> tuple[Kind, Object, str, Mapping[str, Any]]:
    """The kind and the key of what `manifest` is to replace, as `manifest` has it and as it is stored.

    Raises NotFound if there is none, and a Refused for a manifest that cannot be read.
    """
    kind = kind_of(manifest)
    made = _decoded(kind, manifest)
    key = _settle_namespace(kind, made.meta, namespace)
    stored = world.get(kind.name, key)
    if stored is None:
        raise kinds.not_found(kind, made.meta.name or "")
    return kind, made, key, stored


def _create(world: World, kind: Kind, made: Object, *, namespace: str | None, now: int, uid: str) -> Admitted:
    rules = RULES[kind.name]
    given = made.meta
    if not given.uid:
        given.uid = uid
    if given.creation_timestamp is None:
        given.creation_timestamp = rfc3339(now)
    if given.resource_version is not None:
        given.resource_version = None
    if not given.name and given.generate_name:
        given.name = meta.generated_name(given.generate_name, given.uid)
    key = _settle_namespace(kind, given, namespace)
    if not rules.observed:
        _drop_status(made)
    rules.set_defaults(made)
    _settle_deletion(made, None)
    given.generation = 1 if kind is kinds.POD else None
    rules.admit(world.priority_classes(), made)
    _refuse(kind, given, rules.faults(made))
    there = world.get(kind.name, key)
    if there is not None:
        terminating = there["metadata"].get("deletionTimestamp") is not None
        raise kinds.already_exists(kind, given.name or "", terminating=terminating)
    if made.api_version != kind.api_version:
        made.api_version = kind.api_version
    complete = made.dump()
    return Admitted(
        kind=kind, key=key, object=complete, change="created", warnings=_warnings(kind, made, complete)
    )


def _update(
    world: World,
    kind: Kind,
    made: Object,
    key: str,
    stored: Mapping[str, Any],
    *,
    keep_protection: bool,
) -> Admitted:
    rules = RULES[kind.name]
    old = rules.read(stored)
    _check_identity(world, kind, key, made.meta, old.meta)
    _keep_meta(kind, made.meta, old.meta, keep_protection=keep_protection)
    _keep_status(made, old, observed=rules.observed)
    rules.set_defaults(made)
    rules.keep(world.priority_classes(), made, old)
    _settle_deletion(made, old.meta)
    _refuse(kind, made.meta, rules.update_faults(made, old))
    warnings = _warnings(kind, made, made.dump())
    return _admitted(world, kind, key, made, old, stored, warnings)


def _admitted(
    world: World,
    kind: Kind,
    key: str,
    made: Object,
    old: Object,
    stored: Mapping[str, Any],
    warnings: tuple[str, ...],
) -> Admitted:
    made.api_version = kind.api_version
    complete = made.dump()
    if kind is kinds.POD and complete["spec"] != stored.get("spec"):
        complete["metadata"]["generation"] = (old.meta.generation or 0) + 1
    change: Change = "unchanged" if complete == old.dump() else "configured"
    gone = change == "configured" and _ends(world, kind, key, made, old)
    return Admitted(kind=kind, key=key, object=complete, change=change, warnings=warnings, gone=gone)


def _ends(world: World, kind: Kind, key: str, made: Object, old: Object) -> bool:
    """Whether this update is the end of an object that is being deleted."""
    if old.meta.deletion_timestamp is None or made.meta.finalizers:
        return False
    if isinstance(made, Pod):
        running = made.asked.node_name and made.meta.deletion_grace_period_seconds
        terminal = made.status is not None and made.status.phase in TERMINAL_PHASES
        return terminal or not running
    return not (kind is kinds.COMPOSITE_POD_GROUP and world.children_of(key))


def _decoded(kind: Kind, manifest: Mapping[str, Any]) -> Any:
    version = str(manifest["apiVersion"]).rpartition("/")[2]
    return decode(RULES[kind.name].model, kind, version, manifest)


def _settle_namespace(kind: Kind, given: ObjectMeta, namespace: str | None) -> str:
    """Put the object into its namespace, and return its key. Raises BadRequest if there are two."""
    if kind.namespaced:
        given.namespace = given.namespace or namespace or DEFAULT_NAMESPACE
        if namespace is not None and given.namespace != namespace:
            raise BadRequest(
                f"the namespace of the provided object ({given.namespace}) does not match the namespace "
                f"sent on the request ({namespace})"
            )
    return kind.key_of(given.namespace, given.name or "")


def _settle_deletion(made: Object, old: ObjectMeta | None) -> None:
    """Take over a deletion that was observed elsewhere, if somebody there will also end it.

    That is so for a Pod on a node, or with finalizers; else, as in Kubernetes, what a manifest
    says about its deletion does not count.
    """
    given = made.meta
    before = None if old is None else old.deletion_timestamp
    observed = isinstance(made, Pod) and (made.asked.node_name or given.finalizers)
    if given.deletion_timestamp is None and given.deletion_grace_period_seconds is None:
        return
    if given.deletion_timestamp is None or (before is None and not observed):
        given.deletion_timestamp = given.deletion_grace_period_seconds = None
    elif given.deletion_grace_period_seconds is None and isinstance(made, Pod):
        spec = made.asked
        given.deletion_grace_period_seconds = spec.termination_grace_period_seconds if spec.node_name else 0


def _check_identity(world: World, kind: Kind, key: str, given: ObjectMeta, old: ObjectMeta) -> None:
    """Raises Conflict if the caller means another object, or one that has changed since."""
    name = given.name or ""
    if given.uid and given.uid != old.uid:
        why = f"Precondition failed: UID in precondition: {given.uid}, UID in object meta: {old.uid}"
        raise kinds.conflict(kind, name, why)
    if given.resource_version and given.resource_version != world.resource_version(kind.name, key):
        raise kinds.conflict(
            kind,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )


def _keep_meta(kind: Kind, given: ObjectMeta, old: ObjectMeta, *, keep_protection: bool) -> None:
    given.uid = old.uid
    given.resource_version = None
    given.generation = old.generation
    given.creation_timestamp = given.creation_timestamp or old.creation_timestamp
    given.generate_name = given.generate_name or old.generate_name
    if given.deletion_timestamp is None or kind is not kinds.POD:
        given.deletion_timestamp = old.deletion_timestamp
    if given.deletion_grace_period_seconds is None or kind is not kinds.POD:
        given.deletion_grace_period_seconds = old.deletion_grace_period_seconds
    finalizers = given.finalizers or []
    protected = groups.PROTECTION in (old.finalizers or ())
    if keep_protection and protected and groups.PROTECTION not in finalizers:
        finalizers = [*finalizers, groups.PROTECTION]
    given.finalizers = finalizers or None


def _keep_status(made: Any, old: Any, *, observed: bool) -> None:
    """What the manifest observes replaces what was known, field by field; the rest stays."""
    if not hasattr(old, "status"):
        return
    if made.status is None or not observed:
        made.status = old.status
    elif old.status is not None:
        made.status = type(old.status).model_validate({**old.status.dump(), **made.status.dump()})


def _drop_status(made: Any) -> None:
    if getattr(made, "status", None) is not None:
        made.status = None


def _refuse(kind: Kind, given: ObjectMeta, faults: list[Cause]) -> None:
    if faults:
        raise refusal(kind, given.name or "", faults)


def _warnings(kind: Kind, made: Struct, complete: Mapping[str, Any]) -> tuple[str, ...]:
    unknown = [f'{UNKNOWN_FIELD}"{path}"' for path in sorted(unknown_fields(made))]
    return (*unknown, *scope.notes(kind, complete))
