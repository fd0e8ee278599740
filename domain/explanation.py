"""What an explanation consists of: why an object is placed, waits, or is gone, as data.

Encoded with msgspec these give the JSON that users read, in camelCase. `summary` and the `message`
of a shape are Kubernetes' texts byte for byte; all that Kubernetes does not say stands beside them.
Amounts are Kubernetes quantities, times RFC 3339 with microseconds.
"""

import enum
from typing import Optional

import msgspec
from msgspec import UNSET, UnsetType, field

LEVELS = (0, 1, 2, 3)
"""How much is told: 0 verdict and summary; 1 quorum, reasons by shape, the tree; 2 nodes grouped by
identical verdict, placements, preemption in detail; 3 every node and every score."""


def title(subject: str) -> str:
    """How people name `Kind/namespace/name`: `PodGroup default/trainer`."""
    return subject.replace("/", " ", 1)


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
    def subject(self) -> str:
        """`Kind/namespace/name`, of a cluster-wide kind `Kind/name`."""
        return "/".join(filter(None, (self.kind, self.namespace, self.name)))

    @property
    def title(self) -> str:
        """How people name it: `PodGroup default/trainer`."""
        return title(self.subject)


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
    """Pods that are alike and found no node; `total_nodes` were looked at. `obstacles` say in sentences
    which taints, labels, ports and other Pods the reasons of `nodes` are about."""

    pods: tuple[str, ...]
    requests: dict[str, str]
    message: str
    total_nodes: int
    nodes: tuple[Reason, ...]
    resources: tuple[Figures, ...]
    obstacles: tuple[str, ...] = ()


class Placement(Part, frozen=True, kw_only=True):
    """Why `group` could not have `domain`, a value of the label `key` that `nodes` nodes have.

    `scheduled` is how many of its members (of a composite: groups) had or would have had a place. With
    `resource`, `asked` of it would be enough for what the group needs, and `free` is left there in all.
    """

    group: str
    key: str
    domain: str
    nodes: int
    scheduled: int
    reason: str
    resource: str | None = None
    asked: str | None = None
    free: str | None = None


class TreeNode(Part, frozen=True, kw_only=True):
    """A group in its tree; `group` is its subject, `message` Kubernetes' text, `reason` ours in short.

    `min_count`, `created` and `scheduled` count as in Quorum. `placeable` is for how many of those that
    wait the last attempt found a place, None where there was none that was refused. `domain` is the
    value of the label `topology_key` that the attempt chose, or that its findings are about.
    """

    group: str
    verdict: Fate
    reason: str
    message: str
    policy: str
    min_count: int
    created: int
    scheduled: int
    placeable: int | None = None
    topology_key: str | None = None
    domain: str | None = None
    children: "tuple[TreeNode, ...]" = ()


class Cause(Part, frozen=True, kw_only=True):
    """What decided that a tree is held or was refused: the last in `path`, which are subjects, the root
    first, or a group above that is missing.

    `pods` are its members that fitted nowhere, `resource` what they lack, `domain` where it was looked
    for, a value of the label `topology_key`; `text` says it in a sentence.
    """

    path: tuple[str, ...]
    text: str
    pods: tuple[str, ...] = ()
    resource: str | None = None
    domain: str | None = None
    topology_key: str | None = None


class Unit(Part, frozen=True, kw_only=True):
    """Pods that are evicted together or not at all; `unit` is the subject of a Pod or a group.

    `order` is its place by importance, 1 for the most important. `fate` is `victim`, `reprieved` (it
    was taken away to make room, and there was room for it after all) or `spared` (what it would have
    made room for did not fit even so).
    """

    unit: str
    order: int
    priority: int
    pods: tuple[str, ...]
    nodes: tuple[str, ...]
    fate: str
    breaks_budget: bool = False


class Candidate(Part, frozen=True, kw_only=True):
    """A node that a single Pod could have, and whom that would cost; the first one is taken.

    `worse_by` is the first comparison that it loses to the one before it, None for the first.
    """

    node: str
    victims: tuple[str, ...]
    broken_budgets: int
    highest_priority: int
    pods: int
    worse_by: str | None = None


class Preemption(Part, frozen=True, kw_only=True):
    """What preemption made of a refusal; `tried` is whether victims were looked for.

    From level 2 on, `units` are those that could have gone, by importance, and `candidates` the nodes
    that a single Pod could have had, the best first.
    """

    tried: bool
    outcome: str
    victims: tuple[str, ...]
    units: tuple[Unit, ...] = ()
    candidates: tuple[Candidate, ...] = ()


class Eviction(Part, frozen=True, kw_only=True):
    """Who made a Pod or a group go: the entity `by`, with the attempt at a position. `pod` is the key of
    the member that went last where a group that runs on without it is asked about.

    From level 2 on `preemption` says who else could have gone, and `because` why this one did.
    """

    by: str
    attempt_position: int
    position: int
    time: str
    message: str
    pod: str = ""
    because: str = ""
    preemption: Preemption | None = None


class Ruling(Part, frozen=True, kw_only=True):
    """Why a filter rules a node out."""

    filter: str
    reason: str
    preemption_may_help: bool


class Free(Part, frozen=True, kw_only=True):
    """What nodes have left of a resource, at least and at most."""

    name: str
    least: str
    most: str


class AlikeNodes(Part, frozen=True, kw_only=True):
    """Nodes of which the filters say the same, nothing where they can take the Pod; `nodes` are their
    names, runs of numbers as one: `n[0-9]`."""

    nodes: tuple[str, ...]
    count: int
    verdict: tuple[Ruling, ...]
    free: tuple[Free, ...]


class ScoredNode(Part, frozen=True, kw_only=True):
    """A node that can take a Pod, with its points by plugin, weights not counted in, and the total."""

    node: str
    scores: dict[str, int]
    total: int


class NodeVerdict(Part, frozen=True, kw_only=True):
    """What filters and scores say of one node; `scores` and `total` only where no filter rules it out."""

    node: str
    verdict: tuple[Ruling, ...]
    free: dict[str, str]
    scores: dict[str, int] | None = None
    total: int | None = None


class Look(Part, frozen=True, kw_only=True):
    """How the nodes stood for `pod` when its turn came in the attempt, computed anew.

    `where` is the domain in which it was looked for, `chosen` the node it got or would have got, by
    `nomination` if it was nominated there. `weights` are what a point of each plugin counts. `nodes` has
    every node, at level 3 only.
    """

    pod: str
    requests: dict[str, str]
    where: str | None
    total_nodes: int
    chosen: ScoredNode | None
    by: str | None
    second_best: ScoredNode | None
    alike: tuple[AlikeNodes, ...]
    weights: dict[str, int]
    nodes: tuple[NodeVerdict, ...] = ()


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
    """Pods on a node: by name, in the explanation of a node with their namespace. `gone` says that the
    node has left the cluster, whose Pods count until they are deleted."""

    node: str
    pods: tuple[str, ...]
    gone: bool = False


class Capacity(Part, frozen=True, kw_only=True):
    """A resource of a node: what there is for Pods, what they use, what is left."""

    name: str
    allocatable: str
    used: str
    free: str


class Spot(Part, frozen=True, kw_only=True):
    """A Pod, by name, and a node that it could have."""

    pod: str
    node: str


class Change(Part, frozen=True, kw_only=True):
    """A change that would help; `proved` says that it was tried on a fork.

    `kind` is what sort of change it is, `subjects` what it is about; `before` and `after`, on the wire
    `from` and `to`, are the value that changes. For it to help, the Pods of keys `evicts` have to go.
    """

    change: str
    proved: bool
    kind: str
    subjects: tuple[str, ...]
    before: str | None = field(default=None, name="from")
    after: str | None = field(default=None, name="to")
    evicts: tuple[str, ...] = ()


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
    `untried` were not tried. `group` is the subject of a Pod's own, `tree` the tree of groups it is in,
    `cause` what decided a refusal, and `placements` the domains that its groups could not have. `lean`
    says that the tree would have started with `siblings: lean`. `looks` are from level 2 on. `evicted`
    says who made it go. `proof` is `infeasible` if no placement exists, as `proof_by` argues, else
    `notFound`, and None where nothing was refused; `missed` is a placement that exists and that the
    scheduler did not find. `would_help` are changes that would start it, cheapest first, not all of
    them with `would_help_cut_off`. `capacity` is a node's. `before` is the explanation
    of an object that was deleted as it last was: of a group, after its last attempt.
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
    group: str | None = None
    tree: TreeNode | None = None
    cause: Cause | None = None
    placements: tuple[Placement, ...] = ()
    lean: bool = False
    preemption: Preemption | None = None
    evicted: Eviction | None = None
    looks: tuple[Look, ...] = ()
    proof: str | None = None
    proof_by: str | None = None
    missed: tuple[Spot, ...] = ()
    would_help: tuple[Change, ...] = ()
    would_help_cut_off: bool = False
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
