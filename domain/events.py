"""The closed set of facts a log can hold.

Names and fields are in users' logs for ever: a change is a new schema version with an upcaster
(`domain.upcast`). Fields stand in the alphabetical order of their names on the wire, so that
encoding a payload gives canonical bytes. Where a payload has an `object`, that is the whole
manifest as admitted, in canonical JSON; the reducer reads of it what scheduling needs.
"""

from functools import lru_cache
from typing import TypeAlias, get_args

import msgspec
from msgspec import UNSET, UnsetType

from domain.profile import DEFAULT_PROFILE, DEFAULT_SCHEDULER, Profile
from domain.resources import Amount


class Fact(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """Base of all payloads. A field at its default is left out of the bytes."""


class Deletion(Fact, frozen=True, kw_only=True):
    """A delete request that is under way since `at` (microseconds); `grace` in seconds."""

    at: int
    grace: int


class Added(Fact, frozen=True, kw_only=True):
    """An object came to be, at `key`: `namespace/name`, or `name` for a cluster-wide kind."""

    key: str
    object: msgspec.Raw


class Updated(Fact, frozen=True, kw_only=True):
    """An object was replaced by `object`, or only marked for deletion."""

    deletion: Deletion | None = None
    key: str
    object: msgspec.Raw | UnsetType = UNSET


class Deleted(Fact, frozen=True, kw_only=True):
    """An object is gone."""

    key: str
    uid: str


class NodeAdded(Added, frozen=True):
    """A node joined the cluster."""


class NodeUpdated(Updated, frozen=True):
    """A node's spec, labels or status changed."""


class NodeDeleted(Deleted, frozen=True):
    """A node left; Pods bound to it stay until something deletes them."""


class PodAdded(Fact, frozen=True, kw_only=True):
    """A Pod was created, pending or already bound to `node`."""

    group: str | None = None
    key: str
    node: str | None = None
    object: msgspec.Raw


class PodUpdated(Fact, frozen=True, kw_only=True):
    """A Pod changed: its whole `object`, or its `status` alone, or a deletion began."""

    deletion: Deletion | None = None
    group: str | None = None
    key: str
    node: str | None = None
    object: msgspec.Raw | UnsetType = UNSET
    status: msgspec.Raw | UnsetType = UNSET


class PodDeleted(Fact, frozen=True, kw_only=True):
    """A Pod is gone."""

    group: str | None = None
    key: str
    node: str | None = None
    uid: str


class PodGroupAdded(Added, frozen=True):
    """A PodGroup was created; Pods that name it may be older."""


class PodGroupUpdated(Updated, frozen=True):
    """A PodGroup's minCount changed, or its deletion waits for its Pods (protection finalizer)."""


class PodGroupDeleted(Deleted, frozen=True):
    """A PodGroup is gone; pending members wait for one of its name."""


class CompositePodGroupAdded(Added, frozen=True):
    """A CompositePodGroup was created."""


class CompositePodGroupUpdated(Updated, frozen=True):
    """A CompositePodGroup changed, or its deletion waits for its children."""


class CompositePodGroupDeleted(Deleted, frozen=True):
    """A CompositePodGroup is gone."""


class WorkloadAdded(Added, frozen=True):
    """A Workload was created."""


class WorkloadUpdated(Updated, frozen=True):
    """A Workload changed."""


class WorkloadDeleted(Deleted, frozen=True):
    """A Workload is gone."""


class PriorityClassAdded(Added, frozen=True):
    """A PriorityClass was created."""


class PriorityClassUpdated(Updated, frozen=True):
    """A PriorityClass changed."""


class PriorityClassDeleted(Deleted, frozen=True):
    """A PriorityClass is gone; objects keep the priority it gave them."""


class PodDisruptionBudgetAdded(Added, frozen=True):
    """A PodDisruptionBudget was created."""


class PodDisruptionBudgetUpdated(Updated, frozen=True):
    """A PodDisruptionBudget changed."""


class PodDisruptionBudgetDeleted(Deleted, frozen=True):
    """A PodDisruptionBudget is gone."""


class NamespaceAdded(Added, frozen=True):
    """A Namespace was created."""


class NamespaceUpdated(Updated, frozen=True):
    """A Namespace changed."""


class NamespaceDeleted(Deleted, frozen=True):
    """A Namespace is gone."""


class SchedulerConfigured(Fact, frozen=True, kw_only=True):
    """The scheduler's settings from here on; amounts of time in microseconds.

    `retry` is `onChange` (a refused entity is tried again once something newer could change the
    verdict) or `byClock` (again and again, as kube-scheduler 1.37 does). `profiles` are those of
    `scheduler_names`, in their order; names beyond its end have the default profile. `siblings` is
    `greedy` (each group of a composite takes what it can, as kube-scheduler does) or `lean` (each
    gets its minimum first).
    """

    initial_backoff_us: int = 1_000_000
    max_backoff_us: int = 10_000_000
    profiles: tuple[Profile, ...] = ()
    retry: str = "onChange"
    scheduler_names: tuple[str, ...] = (DEFAULT_SCHEDULER,)
    siblings: str = "greedy"

    def profile(self, scheduler: str) -> Profile:
        """The profile of `scheduler`, the default one for a name that is not configured."""
        configured = dict(zip(self.scheduler_names, self.profiles, strict=False))
        return configured.get(scheduler, DEFAULT_PROFILE)

    @property
    def disabled_somewhere(self) -> frozenset[str]:
        """The filters that are off in one of the profiles."""
        return frozenset(name for profile in self.profiles for name in profile.disabled_filters)


class BindingFailed(Fact, frozen=True, kw_only=True):
    """A live cluster refused the binding of a Pod: it is pending again."""

    group: str | None = None
    message: str
    node: str
    pod: str
    uid: str


class NodeReason(Fact, frozen=True, kw_only=True):
    """`count` nodes were ruled out by `filter` for `reason`; `examples` are the first by name."""

    count: int
    examples: tuple[str, ...]
    filter: str
    preemption_may_help: bool
    reason: str


class ResourceFinding(Fact, frozen=True, kw_only=True):
    """How much of a resource was asked for, and what was free when it was (base units)."""

    asked: Amount
    free_in_cluster: Amount
    free_on_best_node: Amount
    name: str


class ShapeFinding(Fact, frozen=True, kw_only=True):
    """What kept Pods of one shape off every node: `message` is Kubernetes' text for them.

    `pods` are those that were tried and failed; `total` is the number of nodes looked at. The
    figures are those of the moment of the first failure, with what was placed before in the cycle.
    """

    message: str
    nodes: tuple[NodeReason, ...]
    pods: tuple[str, ...]
    requests: tuple[tuple[str, Amount], ...]
    resources: tuple[ResourceFinding, ...]
    total: int


class PlacementFinding(Fact, frozen=True, kw_only=True):
    """Why a group with a topology constraint could not have `domain`, of `nodes` nodes.

    `scheduled` is how many of its members (of a composite: children) had or would have had a place
    there, those that run already included. `reason` is what most nodes say of the first member
    without a place (in a composite: of the PodGroup that decided), or the text of the group. If that is
    a resource, `asked` of it would be enough for the members that the group needs, and `free` is what
    its nodes have left in all (base units).
    """

    asked: Amount = 0
    domain: str
    free: Amount = 0
    nodes: int
    reason: str
    resource: str = ""
    scheduled: int = 0


class GroupFinding(Fact, frozen=True, kw_only=True):
    """What an attempt found for one group of the tree; `parent` is the subject of the one above.

    `status` is `Success`, `Unschedulable` or `Error`; `message` the text of its condition and
    `text` the same before preemption had its say, which members that were not tried get. Of the
    members in the attempt, `fitted` had a place that was given up again and `untried` none;
    `placed` counts the placed ones, given up or not. `scheduled` and `remaining` are the numbers
    of the last feasibility check (KEP-4671), `created` all members that count. Of a composite, they
    count the groups right below (KEP-6012). With a topology constraint, `domain` is the value of the
    label `topology_key` on the nodes that were chosen or, if none will do, that the findings are about;
    `placements` has every domain that was tried in vain (KEP-5732).
    """

    created: int
    domain: str | None = None
    fitted: tuple[str, ...] = ()
    group: str
    message: str = ""
    minimum: int
    parent: str | None = None
    placed: int = 0
    placements: tuple[PlacementFinding, ...] = ()
    policy: str
    remaining: int = 0
    scheduled: int = 0
    status: str
    text: str = ""
    topology_key: str | None = None
    untried: tuple[str, ...] = ()


class GroupAttempted(Fact, frozen=True, kw_only=True):
    """One run of the scheduling cycle for one entity, and what it found; first of its batch.

    `entity` is the subject of a standalone Pod or of the root of a group tree. `snapshot` is the
    position whose State it decided on, `at` the time it was given (microseconds): with these two
    the decision can be made again. `outcome` is `scheduled`, `unschedulable`, `error` or
    `waitingOnPreemption`: refused, but `victims` (Pods in order of importance) have to end, and with
    them gone there is room. `same_as` is the position of an earlier attempt that found exactly the
    same; the findings then stand there and not here. `skipped` are members that are being deleted.
    `lean` says that each PodGroup of the tree got its minimum before any got more.
    """

    at: int
    entity: str
    groups: tuple[GroupFinding, ...] = ()
    lean: bool = False
    number: int
    outcome: str
    same_as: int | None = None
    scheduler: str
    shapes: tuple[ShapeFinding, ...] = ()
    skipped: tuple[str, ...] = ()
    snapshot: int
    victims: tuple[str, ...] = ()


class PodBound(Fact, frozen=True, kw_only=True):
    """A Pod has its node for good. Comes after the GroupAttempted of its batch."""

    group: str | None = None
    node: str
    pod: str
    uid: str


class PodNominated(Fact, frozen=True, kw_only=True):
    """A Pod hopes for `node`, or for none any more. Comes after the GroupAttempted of its batch."""

    group: str | None = None
    node: str | None = None
    pod: str
    uid: str


class PodEvicted(Fact, frozen=True, kw_only=True):
    """A Pod has to make room for the entity `preemptor`; it ends after `grace` seconds from `at` on.

    `message` is that of its condition DisruptionTarget.
    """

    at: int
    grace: int
    group: str | None = None
    message: str
    node: str
    pod: str
    preemptor: str
    uid: str


ObjectPayload: TypeAlias = (
    NodeAdded
    | NodeUpdated
    | NodeDeleted
    | PodAdded
    | PodUpdated
    | PodDeleted
    | PodGroupAdded
    | PodGroupUpdated
    | PodGroupDeleted
    | CompositePodGroupAdded
    | CompositePodGroupUpdated
    | CompositePodGroupDeleted
    | WorkloadAdded
    | WorkloadUpdated
    | WorkloadDeleted
    | PriorityClassAdded
    | PriorityClassUpdated
    | PriorityClassDeleted
    | PodDisruptionBudgetAdded
    | PodDisruptionBudgetUpdated
    | PodDisruptionBudgetDeleted
    | NamespaceAdded
    | NamespaceUpdated
    | NamespaceDeleted
)
Payload: TypeAlias = (
    ObjectPayload
    | SchedulerConfigured
    | BindingFailed
    | GroupAttempted
    | PodBound
    | PodNominated
    | PodEvicted
)

PAYLOADS: dict[str, type[Payload]] = {payload.__name__: payload for payload in get_args(Payload)}
"""Every type of event by its name on the wire."""

VERSIONS: dict[str, int] = dict.fromkeys(PAYLOADS, 1) | {"SchedulerConfigured": 2}
"""The schema version that this program writes, by type."""


class Event(msgspec.Struct, frozen=True, gc=False):
    """An event as the fold takes it: where it stands, when it was kept, what it says."""

    position: int
    at: int
    payload: Payload


def kind_of(payload: Fact) -> str:
    """The Kubernetes kind that an object fact is about: `Pod` of PodAdded."""
    return _kind_of_type(type(payload))


@lru_cache
def _kind_of_type(payload: type[Fact]) -> str:
    name = payload.__name__
    return name.removesuffix("Added").removesuffix("Updated").removesuffix("Deleted")


def subjects(payload: Payload) -> tuple[str, ...]:
    """Every object that `payload` concerns, such as `Pod/default/a`, sorted, each once.

    An attempt concerns its entity and its groups; its members are found through their group.
    """
    match payload:
        case PodBound() | PodNominated() | PodEvicted() | BindingFailed():
            return _pod_subjects(payload.pod, payload.group, payload.node)
        case PodAdded() | PodUpdated() | PodDeleted():
            return _pod_subjects(payload.key, payload.group, payload.node)
        case GroupAttempted():
            return tuple(sorted({payload.entity, *(finding.group for finding in payload.groups)}))
        case SchedulerConfigured():
            return ("Scheduler",)
        case _:
            return (f"{kind_of(payload)}/{payload.key}",)


def _pod_subjects(pod: str, group: str | None, node: str | None) -> tuple[str, ...]:
    own = (f"Pod/{pod}",) if group is None else (f"Pod/{pod}", f"PodGroup/{group}")
    return own if node is None else (f"Node/{node}", *own)
