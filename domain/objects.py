"""What State remembers of each object: the parts that scheduling needs, and where the rest stands.

`manifest` is always the position of the event that last held the whole object, `revision` that of
the last one that changed anything a user can see of it (its resourceVersion). Records are
mutable and belong to one State; what they refer to (shapes, specs, conditions) is shared.
"""

import enum

import msgspec

from domain.events import Deletion
from domain.peers import Peer
from domain.shapes import PodShape

TERMINAL_PHASES = frozenset({"Succeeded", "Failed"})

POD_GROUP = "PodGroup"
COMPOSITE = "CompositePodGroup"


class Condition(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A condition as Kubernetes shows it; `since` is lastTransitionTime in microseconds.

    `generation` is its observedGeneration, 0 if it has none.
    """

    status: str
    reason: str
    message: str
    since: int
    generation: int = 0


class PodSpec(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a Pod's spec and labels mean for the scheduler; Pods of one template share it.

    `peer` is the Pod as rules of others see it; its shape has it only if the Pod has rules itself.
    `gates` are the names of its scheduling gates, `grace` its terminationGracePeriodSeconds.
    """

    shape: PodShape
    peer: Peer
    priority: int
    preemption_policy: str
    scheduler: str
    gates: tuple[str, ...]
    grace: int


class Standing(enum.IntEnum):
    """Where a Pod stands for scheduling. Source: kube-scheduler 1.37, which members count."""

    PENDING = 0
    """Without a node, in our queue."""
    FOREIGN = 1
    """Without a node, and some other scheduler's to place."""
    BOUND = 2
    """On a node, terminating or not."""
    ENDED = 3
    """Succeeded or Failed: uses nothing and counts for nothing."""


class Pod(msgspec.Struct, kw_only=True, gc=False, array_like=True):
    """A Pod. `arrival` is the position at which it was created, `queued_us` when it last began to
    wait; `attempts` counts cycles that it was in and did not leave bound."""

    key: str
    uid: str
    spec: int
    """Number of its PodSpec in the State."""
    group: str | None
    node: str | None
    phase: str
    arrival: int
    manifest: int
    revision: int
    created_us: int
    queued_us: int
    started_us: int | None = None
    attempts: int = 0
    generation: int = 1
    nominated: str | None = None
    deletion: Deletion | None = None
    held_back: bool = False
    """It has finalizers, so that nobody but their owners may end it."""
    run_us: int | None = None
    """How long the simulated kubelet lets it run; None: until it is deleted."""
    condition: Condition | None = None
    """PodScheduled."""
    labels: tuple[tuple[str, str], ...] = ()
    disruption: Condition | None = None
    """DisruptionTarget: the scheduler has evicted it."""

    @property
    def terminal(self) -> bool:
        """Whether it has ended: it uses nothing and counts for nothing."""
        return self.phase in TERMINAL_PHASES


class Group(msgspec.Struct, kw_only=True, gc=False, array_like=True):
    """A PodGroup or a CompositePodGroup, which is `kind`.

    `min_count` counts the Pods of the former and the groups right below the latter (minGroupCount);
    it is 1 for the basic policy (KEP-4671, KEP-6012). `parent` is the name of the composite above.
    """

    key: str
    uid: str
    policy: str
    min_count: int
    priority: int
    preemption_policy: str
    parent: str | None
    topology_key: str | None
    arrival: int
    manifest: int
    revision: int
    created_us: int
    deletion: Deletion | None = None
    condition: Condition | None = None
    """PodGroupInitiallyScheduled, or CompositePodGroupInitiallyScheduled."""
    disrupted_whole: bool = False
    """Disruption mode `all`: its Pods are evicted together or not at all (KEP-5710)."""
    disruption: Condition | None = None
    """DisruptionTarget: the scheduler has evicted it as a whole."""
    kind: str = POD_GROUP

    @property
    def name(self) -> str:
        return self.key.partition("/")[2]

    @property
    def subject(self) -> str:
        """`Kind/namespace/name`."""
        return f"{self.kind}/{self.key}"

    @property
    def above(self) -> str | None:
        """The key of the composite that it names as its parent."""
        return None if self.parent is None else f"{self.key.partition('/')[0]}/{self.parent}"


class Waiting(msgspec.Struct, gc=False):
    """Pods that wait in our queue as one, `pending`, oldest first.

    Of them, `gated` have scheduling gates, and `dying` counts those that are being deleted.
    """

    pending: dict[str, None] = msgspec.field(default_factory=dict)
    gated: dict[str, None] = msgspec.field(default_factory=dict)
    dying: int = 0


class Members(Waiting, gc=False):
    """The Pods that name one group, whether the group exists or not.

    `bound` have a node and have not ended, `foreign` wait for another scheduler.
    """

    bound: dict[str, None] = msgspec.field(default_factory=dict)
    foreign: dict[str, None] = msgspec.field(default_factory=dict)

    @property
    def created(self) -> int:
        """How many count toward minCount."""
        return len(self.pending) + len(self.bound)

    @property
    def protecting(self) -> bool:
        """Whether some Pod keeps the group from being deleted."""
        return bool(self.pending or self.bound or self.foreign)

    def of(self, standing: Standing) -> dict[str, None]:
        """The Pods of one standing other than ENDED."""
        match standing:
            case Standing.PENDING:
                return self.pending
            case Standing.BOUND:
                return self.bound
            case _:
                return self.foreign


class NodeRecord(msgspec.Struct, gc=False, array_like=True):
    """A Node's identity; what scheduling reads of it is in the node table."""

    key: str
    uid: str
    arrival: int
    manifest: int
    revision: int
    created_us: int


class Kept(msgspec.Struct, gc=False, array_like=True):
    """An object that scheduling does not read yet, or only at admission."""

    key: str
    uid: str
    arrival: int
    manifest: int
    revision: int
    created_us: int
    deletion: Deletion | None = None


class PriorityClassFacts(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What admission takes from a PriorityClass."""

    value: int
    global_default: bool
    preemption_policy: str
