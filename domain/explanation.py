"""What an explanation consists of: why an object is placed, waits, or is gone, as data.

Encoded with msgspec these give the JSON that users read, in camelCase. `summary` and the `message`
of a shape are Kubernetes' texts byte for byte; all that Kubernetes does not say stands beside them.
Amounts are Kubernetes quantities, times RFC 3339 with microseconds.
"""

import enum
from typing import Optional

import msgspec
from msgspec import UNSET, UnsetType

LEVELS = (0, 1)
"""How much is told: 0 verdict and summary, 1 quorum and reasons by shape."""


class Fate(enum.StrEnum):
    """What has become of an object."""

    SCHEDULED = "Scheduled"
    """It is on a node, or was until it ended; of a group: nothing of it waits."""
    PARTLY_SCHEDULED = "PartlyScheduled"
    """Members are on nodes and others wait."""
    PENDING = "Pending"
    """In the queue and not yet tried."""
    GATED = "Gated"
    """Held before the queue until something is there or gone."""
    UNSCHEDULABLE = "Unschedulable"
    """Tried, and no place; of a node: it takes no Pods."""
    WAITING_ON_PREEMPTION = "WaitingOnPreemption"
    """Others are making room for it."""
    SCHEDULER_ERROR = "SchedulerError"
    """The attempt could not be made, for a reason that room would not cure."""
    INVALID = "Invalid"
    """It cannot be scheduled whatever the cluster looks like."""
    DELETED = "Deleted"
    PRESENT = "Present"
    """It exists, and placing it is not ganger's part: a node, a class, another scheduler's Pod."""


class Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of all parts of an explanation."""


class ObjectRef(Part, frozen=True, kw_only=True):
    """The object that is explained; `namespace` is None for a cluster-wide kind."""

    kind: str
    namespace: str | None
    name: str
    uid: str

    @property
    def title(self) -> str:
        """How people name it: `PodGroup default/trainer`."""
        name = self.name if self.namespace is None else f"{self.namespace}/{self.name}"
        return f"{self.kind} {name}"


class Moment(Part, frozen=True, kw_only=True):
    """A position of the log and a time."""

    position: int
    time: str


class Quorum(Part, frozen=True, kw_only=True):
    """How many members a group needs and has.

    `created` counts those that exist and have not ended, `scheduled` those on nodes. `placeable` is
    for how many of the others the last attempt found a place, None if it was not refused. `missing`
    names what a gated group waits for. The members of a composite are the groups right below it, of
    which `ready` have their own quorum.
    """

    policy: str
    min_count: int
    created: int
    scheduled: int
    placeable: int | None
    missing: tuple[str, ...]
    ready: int | UnsetType = UNSET


class Attempt(Part, frozen=True, kw_only=True):
    """The attempt that the verdict comes from, or that bound the object.

    It was decided on the State of `snapshot_position`. Its findings stand in the event at
    `findings_position`, an earlier one where nothing new was found.
    """

    position: int
    snapshot_position: int
    findings_position: int
    number: int
    outcome: str
    scheduler: str
    time: str


class Reason(Part, frozen=True, kw_only=True):
    """Why `count` nodes were ruled out; `examples` are the first by name."""

    reason: str
    filter: str
    count: int
    preemption_may_help: bool
    examples: tuple[str, ...]


class Figures(Part, frozen=True, kw_only=True):
    """A resource at the moment of the first failure: what one Pod asked for, and what was free."""

    name: str
    asked: str
    free_on_best_node: str
    free_in_cluster: str


class Shape(Part, frozen=True, kw_only=True):
    """Pods that are alike and found no node; `total_nodes` were looked at."""

    pods: tuple[str, ...]
    requests: dict[str, str]
    message: str
    total_nodes: int
    nodes: tuple[Reason, ...]
    resources: tuple[Figures, ...]


class Preemption(Part, frozen=True, kw_only=True):
    """What preemption made of a refusal; `tried` is whether victims were looked for."""

    tried: bool
    outcome: str
    victims: tuple[str, ...]


class Hold(Part, frozen=True, kw_only=True):
    """What keeps an entity out of the queue: the plugin and its text."""

    plugin: str
    text: str


class Ahead(Part, frozen=True, kw_only=True):
    """An entity that is tried before this one, and by which comparison."""

    entity: str
    because: str


class Line(Part, frozen=True, kw_only=True):
    """The place in the active lane, 1 for the next one, of `length`; `ahead` are the first few."""

    place: int
    length: int
    ahead: tuple[Ahead, ...]


class OnNode(Part, frozen=True, kw_only=True):
    """Pods on a node: by name, in the explanation of a node with their namespace."""

    node: str
    pods: tuple[str, ...]


class Capacity(Part, frozen=True, kw_only=True):
    """A resource of a node: what there is for Pods, what they use, what is left."""

    name: str
    allocatable: str
    used: str
    free: str


class Change(Part, frozen=True, kw_only=True):
    """A change that would help; `proved` says that it was tried on a fork."""

    change: str
    proved: bool


class Brief(Part, frozen=True, kw_only=True):
    """The short answer. `note` is ours: one sentence that says where things stand."""

    object: ObjectRef
    at: Moment
    verdict: Fate
    summary: str = ""
    note: str = ""

    @property
    def placed(self) -> bool:
        """Whether it is where it should be: on a node, or there if it is nothing to be placed."""
        if self.verdict is Fate.PRESENT:
            return self.object.kind not in ("Pod", "PodGroup", "CompositePodGroup")
        return self.verdict is Fate.SCHEDULED


class Explanation(Brief, frozen=True, kw_only=True):
    """The whole answer.

    `entity` is what waits for the object in the queue, such as its group, in `lane`; it was tried
    `attempts` times; `next_try` is when it is due at the earliest, None where time alone does not
    bring that about; `woken_by` are the events that would. `bound` says where Pods are, `since`
    from when on. Of the members in a refused attempt, `fitted` had a place that was given up and
    `untried` were not tried. `proof` is `infeasible` if no placement exists, as `proof_by` argues,
    else `notFound`, and None where nothing was refused. `capacity` is a node's. `before` is the
    explanation of an object that was deleted as it last was: of a group, after its last attempt.
    """

    entity: str | None = None
    lane: str | None = None
    attempts: int = 0
    next_try: str | None = None
    woken_by: tuple[str, ...] = ()
    hold: Hold | None = None
    line: Line | None = None
    quorum: Quorum | None = None
    attempt: Attempt | None = None
    shapes: tuple[Shape, ...] = ()
    fitted: tuple[str, ...] = ()
    untried: tuple[str, ...] = ()
    placements: tuple[str, ...] = ()
    preemption: Preemption | None = None
    proof: str | None = None
    proof_by: str | None = None
    would_help: tuple[Change, ...] = ()
    bound: tuple[OnNode, ...] = ()
    since: str | None = None
    phase: str | None = None
    capacity: tuple[Capacity, ...] = ()
    before: Optional["Explanation"] = None


def at_level(explanation: Explanation, level: int) -> Brief:
    """As much of `explanation` as `level` tells. Raises ValueError for a level that does not exist."""
    if level not in LEVELS:
        raise ValueError(f"level {level} does not exist, it is one of {', '.join(map(str, LEVELS))}")
    if level:
        return explanation
    return Brief(
        object=explanation.object,
        at=explanation.at,
        verdict=explanation.verdict,
        summary=explanation.summary,
        note=explanation.note,
    )
