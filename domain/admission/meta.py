"""What every object has: ObjectMeta, its faults, and what an update keeps of it.

Source: k8s.io/apimachinery, apis/meta/v1 and api/validation.
"""

from collections.abc import Callable

from domain.admission import faults, names
from domain.admission.kinds import Kind
from domain.admission.structs import Int64, Opaque, Strings, Struct, Time
from domain.errors import Cause

DEFAULT_NAMESPACE = "default"

_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_MAX_GENERATED_BASE = 63 - _SUFFIX_LENGTH
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")


class OwnerReference(Struct):
    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Struct):
    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    self_link: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: Int64 | None = None
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: Int64 | None = None
    labels: Strings | None = None
    annotations: Strings | None = None
    owner_references: list[OwnerReference] | None = None
    finalizers: list[str] | None = None
    managed_fields: Opaque = None


class LabelSelectorRequirement(Struct):
    key: str | None = None
    operator: str | None = None
    values: list[str] | None = None


class LabelSelector(Struct):
    match_labels: Strings | None = None
    match_expressions: list[LabelSelectorRequirement] | None = None


class Object(Struct):
    """An object of any kind: type and metadata."""

    api_version: str | None = None
    kind: str | None = None
    metadata: ObjectMeta | None = None

    @property
    def meta(self) -> ObjectMeta:
        """The metadata, made where there is none."""
        if self.metadata is None:
            self.metadata = ObjectMeta()
        return self.metadata


def generated_name(prefix: str, uid: str) -> str:
    """The name that a `generateName` of `prefix` gives to the object of this uid.

    Kubernetes draws the suffix; here it follows from the uid, which was drawn already.
    """
    number = int.from_bytes(uid.encode(), "big") % 1_000_000_007
    suffix = ""
    for _ in range(_SUFFIX_LENGTH):
        number, digit = divmod(number, len(_SUFFIX_ALPHABET))
        suffix += _SUFFIX_ALPHABET[digit]
    return prefix[:_MAX_GENERATED_BASE] + suffix


def meta_faults(
    kind: Kind, meta: ObjectMeta, name_form: Callable[[str], tuple[str, ...]] = names.subdomain
) -> list[Cause]:
    """The faults of a new object's metadata, in Kubernetes' order."""
    found: list[Cause] = []
    if not meta.name:
        found.append(faults.required("metadata.name", "name or generateName is required"))
    else:
        found += [faults.invalid("metadata.name", meta.name, text) for text in name_form(meta.name)]
    if not kind.namespaced:
        if meta.namespace:
            found.append(faults.forbidden("metadata.namespace", "not allowed on this type"))
    elif meta.namespace != DEFAULT_NAMESPACE:
        namespace = meta.namespace or ""
        found += [faults.invalid("metadata.namespace", namespace, text) for text in names.label(namespace)]
    if (meta.generation or 0) < 0:
        found.append(faults.not_at_least("metadata.generation", meta.generation, 0))
    return found + _common_faults(meta)


def meta_update_faults(meta: ObjectMeta, old: ObjectMeta) -> list[Cause]:
    """The faults of an update's metadata; what the update leaves out was taken from `old` before."""
    found = []
    if old.deletion_timestamp is not None:
        added = sorted(set(meta.finalizers or ()) - set(old.finalizers or ()))
        if added:
            text = "no new finalizers can be added if the object is being deleted, found new finalizers"
            found.append(faults.forbidden("metadata.finalizers", f"{text} {_go(added)}"))
    for path, new_value, old_value in (
        ("metadata.creationTimestamp", meta.creation_timestamp, old.creation_timestamp),
        ("metadata.deletionTimestamp", meta.deletion_timestamp, old.deletion_timestamp),
        (
            "metadata.deletionGracePeriodSeconds",
            meta.deletion_grace_period_seconds,
            old.deletion_grace_period_seconds,
        ),
    ):
        if old_value is not None and new_value != old_value:
            found.append(faults.invalid(path, new_value, faults.MUST_BE_IMMUTABLE))
    return found + _common_faults(meta)


def selector_faults(path: str, selector: LabelSelector | None) -> list[Cause]:
    """The faults of a label selector at `path`."""
    if selector is None:
        return []
    found = names.labels(f"{path}.matchLabels", selector.match_labels)
    for index, expression in enumerate(selector.match_expressions or ()):
        found += _requirement_faults(f"{path}.matchExpressions[{index}]", expression)
    return found


def _requirement_faults(path: str, requirement: LabelSelectorRequirement) -> list[Cause]:
    operator, values = requirement.operator or "", requirement.values or []
    found: list[Cause] = []
    if operator in ("In", "NotIn"):
        if not values:
            found.append(
                faults.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
            )
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            found.append(faults.forbidden(f"{path}.values", text))
    else:
        found.append(faults.invalid(f"{path}.operator", operator, "not a valid selector operator"))
    key = requirement.key or ""
    found += [faults.invalid(f"{path}.key", key, text) for text in names.qualified(key)]
    for index, value in enumerate(values):
        found += [faults.invalid(f"{path}.values[{index}]", value, text) for text in names.label_value(value)]
    return found


def _common_faults(meta: ObjectMeta) -> list[Cause]:
    found = names.labels("metadata.labels", meta.labels)
    found += names.annotations("metadata.annotations", meta.annotations)
    for index, owner in enumerate(meta.owner_references or ()):
        for field, value in (
            ("apiVersion", owner.api_version),
            ("kind", owner.kind),
            ("name", owner.name),
            ("uid", owner.uid),
        ):
            if not value:
                path = f"metadata.ownerReferences[{index}].{field}"
                found.append(faults.invalid(path, "", "must not be empty"))
    for finalizer in meta.finalizers or ():
        found += [faults.invalid("metadata.finalizers", finalizer, text) for text in _finalizer(finalizer)]
    return found


def _finalizer(name: str) -> tuple[str, ...]:
    wrong = names.qualified(name)
    if not wrong and "/" not in name and name not in _STANDARD_FINALIZERS:
        return ("name is neither a standard finalizer name nor is it fully qualified",)
    return wrong


def _go(values: list[str]) -> str:
    quoted = ", ".join(f'"{value}"' for value in values)
    return f"[]string{{{quoted}}}"
