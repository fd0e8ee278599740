"""The kinds of object that ganger takes, what they are called, and how they are addressed."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from domain.errors import AlreadyExists, BadRequest, Conflict, NotFound

SCHEDULING = "scheduling.k8s.io"


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind; `versions` begins with the one that its objects are stored in.

    `group` is empty for the core API; `short` has the abbreviations that kubectl takes.
    """

    name: str
    group: str = ""
    versions: tuple[str, ...]
    plural: str
    short: tuple[str, ...]
    namespaced: bool = True

    @property
    def singular(self) -> str:
        return self.name.lower()

    @property
    def version(self) -> str:
        return self.versions[0]

    @property
    def api_version(self) -> str:
        """What stands in `apiVersion`: `v1`, `scheduling.k8s.io/v1beta1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """The resource as refusals name it: `pods`, `podgroups.scheduling.k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def qualified(self) -> str:
        """The kind as refusals name it: `Pod`, `PodGroup.scheduling.k8s.io`."""
        return f"{self.name}.{self.group}" if self.group else self.name

    def key_of(self, namespace: str | None, name: str) -> str:
        """`namespace/name`, or `name` for a cluster-wide kind."""
        return f"{namespace}/{name}" if self.namespaced else name


NODE = Kind(name="Node", versions=("v1",), plural="nodes", short=("no",), namespaced=False)
NAMESPACE = Kind(name="Namespace", versions=("v1",), plural="namespaces", short=("ns",), namespaced=False)
POD = Kind(name="Pod", versions=("v1",), plural="pods", short=("po",))
POD_GROUP = Kind(
    name="PodGroup", group=SCHEDULING, versions=("v1beta1", "v1alpha3"), plural="podgroups", short=("pg",)
)
COMPOSITE_POD_GROUP = Kind(
    name="CompositePodGroup",
    group=SCHEDULING,
    versions=("v1alpha3",),
    plural="compositepodgroups",
    short=("cpg",),
)
WORKLOAD = Kind(
    name="Workload", group=SCHEDULING, versions=("v1beta1", "v1alpha3"), plural="workloads", short=("wl",)
)
PRIORITY_CLASS = Kind(
    name="PriorityClass",
    group=SCHEDULING,
    versions=("v1",),
    plural="priorityclasses",
    short=("pc",),
    namespaced=False,
)
POD_DISRUPTION_BUDGET = Kind(
    name="PodDisruptionBudget",
    group="policy",
    versions=("v1",),
    plural="poddisruptionbudgets",
    short=("pdb",),
)

EVENT = Kind(name="Event", versions=("v1",), plural="events", short=("ev",))
"""Kubernetes Events: a kind that is only read."""
EVENT_OF_GROUP = Kind(name="Event", group="events.k8s.io", versions=("v1",), plural="events", short=("ev",))
"""The same in the newer of its two APIs."""

KINDS = (
    NODE,
    NAMESPACE,
    POD,
    POD_GROUP,
    COMPOSITE_POD_GROUP,
    WORKLOAD,
    PRIORITY_CLASS,
    POD_DISRUPTION_BUDGET,
)

_BY_NAME = {
    name: kind
    for kind in KINDS
    for name in (kind.singular, kind.plural, kind.resource, f"{kind.singular}.{kind.group}", *kind.short)
}
_BY_GROUP_VERSION = {
    (f"{kind.group}/{version}" if kind.group else version, kind.name): kind
    for kind in KINDS
    for version in kind.versions
}


def kind_named(text: str) -> Kind:
    """The kind that `text` means: singular, plural or short, in any case. Raises NotFound."""
    kind = _BY_NAME.get(text.lower())
    if kind is None:
        raise _no_such_kind(text, KINDS)
    return kind


def readable_kind_named(text: str) -> Kind:
    """As `kind_named`, but Events are among the kinds: they can be read, and nothing else."""
    if text.lower() in ("event", "events", *EVENT.short):
        return EVENT
    kind = _BY_NAME.get(text.lower())
    if kind is None:
        raise _no_such_kind(text, (*KINDS, EVENT))
    return kind


def _no_such_kind(text: str, known: Iterable[Kind]) -> NotFound:
    names = ", ".join(kind.plural for kind in known)
    return NotFound(f'the server doesn\'t have a resource type "{text}" (it has {names})', kind=text)


def kind_of(manifest: Mapping[str, Any]) -> Kind:
    """The kind that `manifest` says it is of. Raises BadRequest if ganger does not take it."""
    name, api_version = manifest.get("kind"), manifest.get("apiVersion")
    for field, value in (("kind", name), ("apiVersion", api_version)):
        if not isinstance(value, str) or not value:
            raise BadRequest(f"{field}: Required value: an object says its apiVersion and kind")
    kind = _BY_GROUP_VERSION.get((str(api_version), str(name)))
    if kind is None:
        known = [version for version, known in _BY_GROUP_VERSION if known == name]
        takes = f"it is taken in {' and '.join(known)}" if known else f"known kinds are {_known_kinds()}"
        raise BadRequest(f'no matches for kind "{name}" in version "{api_version}" ({takes})')
    return kind


def not_found(kind: Kind, name: str) -> NotFound:
    return NotFound(f'{kind.resource} "{name}" not found', name=name, group=kind.group, kind=kind.plural)


def already_exists(kind: Kind, name: str, *, terminating: bool) -> AlreadyExists:
    being_deleted = "object is being deleted: " if terminating else ""
    text = f'{being_deleted}{kind.resource} "{name}" already exists'
    return AlreadyExists(text, name=name, group=kind.group, kind=kind.plural)


def conflict(kind: Kind, name: str, why: str) -> Conflict:
    """The refusal of an update; `why` follows Kubernetes' opening words."""
    text = f'Operation cannot be fulfilled on {kind.resource} "{name}": {why}'
    return Conflict(text, name=name, group=kind.group, kind=kind.plural)


def _known_kinds() -> str:
    return ", ".join(kind.name for kind in KINDS)
