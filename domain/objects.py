"""What State remembers of each object: the parts that scheduling needs, and where the rest stands.

`manifest` is always the position of the event that last held the whole object, `revision` that of
the last one that changed anything a user can see of it (its resourceVersion). Records are
mutable and belong to one State; what they refer to (shapes, specs, conditions) is shared.
There may be hundreds of thousands of Pods, so that every word of one counts.
"""

import enum
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from domain.events import Deletion
from domain.peers import Peer
from domain.shapes import PodShape
from domain.uids import KeptUid, uid_text

PREEMPT_LOWER = "PreemptLowerPriority"
"""The preemption policy of whoever names none."""

TERMINAL_PHASES = frozenset({"Succeeded", "Failed"})

POD_GROUP = "PodGroup"
COMPOSITE = "CompositePodGroup"


class Condition(msgspec.Struct, frozen=True, gc=False, array_like=True, cache_hash=True):
    """A condition as Kubernetes shows it; `since` is lastTransitionTime in microseconds.

    `generation` is its observedGeneration, 0 if it has none.
    """

    status: Literal["True", "False"]
    reason: str
    message: str
    since: int
    generation: int = 0


@lru_cache(maxsize=1024)
def scheduled_since(at: int) -> Condition:
    """PodScheduled of a Pod that has its node since `at`; those that got theirs together share one."""
    return Condition("True", "", "", at)


class PodSpec(msgspec.Struct, frozen=True, gc=False, array_like=True, cache_hash=True):
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


class Exceptions(msgspec.Struct, frozen=True, kw_only=True, gc=False, array_like=True, cache_hash=True):
    """What is true of few Pods; all others share one that says nothing. For the fields see Pod."""

    nominated: str | None = None
    deletion: Deletion | None = None
    held_back: bool = False
    run_us: int | None = None
    disruption: Condition | None = None


_NO_EXCEPTIONS = Exceptions()


class _Namespaced:
    """What is kept under a key of namespace and name, `namespace/name`."""

    __slots__ = ()
    key: str
    kept_uid: KeptUid

    @property
    def uid(self) -> str:
        return uid_text(self.kept_uid)

    @property
    def namespace(self) -> str:
        return self.key.partition("/")[0]

    @property
    def name(self) -> str:
        return self.key.partition("/")[2]


class Pod(_Namespaced, msgspec.Struct, gc=False):
    """A Pod. `arrival` is the position at which it was created, `queued_us` when it last began to
    wait; `attempts` counts cycles that it was in and did not leave bound."""

    key: str
    kept_uid: KeptUid
    spec: PodSpec
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
    condition: Condition | None = None
    """PodScheduled."""
    exceptions: Exceptions = _NO_EXCEPTIONS

    @property
    def subject(self) -> str:
        """`Pod/namespace/name`."""
        return f"Pod/{self.key}"

    @property
    def labels(self) -> tuple[tuple[str, str], ...]:
        """Sorted by key."""
        return self.spec.peer.labels

    @property
    def terminal(self) -> bool:
        """Whether it has ended: it uses nothing and counts for nothing."""
        return self.phase in TERMINAL_PHASES

    @property
    def nominated(self) -> str | None:
        """The node that it hopes for, or hoped for when it ended."""
        return self.exceptions.nominated

    @nominated.setter
    def nominated(self, node: str | None) -> None:
        if node != self.exceptions.nominated:
            self.exceptions = replace(self.exceptions, nominated=node)

    @property
    def deletion(self) -> Deletion | None:
        return self.exceptions.deletion

    @deletion.setter
    def deletion(self, deletion: Deletion | None) -> None:
        if deletion is not self.exceptions.deletion:
            self.exceptions = replace(self.exceptions, deletion=deletion)

    @property
    def held_back(self) -> bool:
        """Whether it has finalizers, so that nobody but their owners may end it."""
        return self.exceptions.held_back

    @held_back.setter
    def held_back(self, held_back: bool) -> None:
        if held_back is not self.exceptions.held_back:
            self.exceptions = replace(self.exceptions, held_back=held_back)

    @property
    def run_us(self) -> int | None:
        """How long the simulated kubelet lets it run; None: until it is deleted."""
        return self.exceptions.run_us

    @run_us.setter
    def run_us(self, run_us: int | None) -> None:
        if run_us != self.exceptions.run_us:
            self.exceptions = replace(self.exceptions, run_us=run_us)

    @property
    def disruption(self) -> Condition | None:
        """DisruptionTarget: the scheduler has evicted it."""
        return self.exceptions.disruption

    @disruption.setter
    def disruption(self, disruption: Condition | None) -> None:
        if disruption is not self.exceptions.disruption:
            self.exceptions = replace(self.exceptions, disruption=disruption)


class Group(_Namespaced, msgspec.Struct, gc=False):
    """A PodGroup or a CompositePodGroup, which is `kind`.

    `min_count` counts the Pods of the former and the groups right below the latter (minGroupCount);
    it is 1 for the basic policy (KEP-4671, KEP-6012). `parent` is the name of the composite above.
    """

    key: str
    kept_uid: KeptUid
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
    def subject(self) -> str:
        """`Kind/namespace/name`."""
        return f"{self.kind}/{self.key}"

    @property
    def above(self) -> str | None:
        """The key of the composite that it names as its parent."""
        return None if self.parent is None else f"{self.namespace}/{self.parent}"


Keys: TypeAlias = dict[str, None] | MappingProxyType[str, None]
"""Keys of Pods, in order."""

NOBODY: Final[Keys] = MappingProxyType({})
"""What most groups have of most kinds; it takes no space of its own."""


class Waiting(msgspec.Struct, gc=False):
    """Pods that wait in our queue as one, `pending`, oldest first.

    Of them, `gated` have scheduling gates, and `dying` counts those that are being deleted.
    """

    pending: Keys = NOBODY
    gated: Keys = NOBODY
    dying: int = 0


class Members(Waiting, gc=False):
    """The Pods that name one group, whether the group exists or not.

    `bound` have a node and have not ended, `foreign` wait for another scheduler.
    """

    bound: Keys = NOBODY
    foreign: Keys = NOBODY

    @property
    def created(self) -> int:
        """How many count toward minCount."""
        return len(self.pending) + len(self.bound)

    @property
    def first(self) -> str:
        """Some Pod of them."""
        return next(iter(self.pending or self.bound or self.foreign))

    def add(self, standing: Standing, key: str) -> None:
        """Count a Pod that is BOUND or FOREIGN."""
        if standing is Standing.BOUND:
            self.bound = with_one(self.bound, key)
        else:
            self.foreign = with_one(self.foreign, key)

    def remove(self, standing: Standing, key: str) -> None:
        """Undo `add`."""
        if standing is Standing.BOUND:
            self.bound = without(self.bound, key)
        else:
            self.foreign = without(self.foreign, key)


def with_one(keys: Keys, key: str) -> Keys:
    """`keys` and, last, `key`; `keys` are changed, unless they were none."""
    if isinstance(keys, dict):
        keys[key] = None
        return keys
    return {key: None}


def without(keys: Keys, key: str) -> Keys:
    """`keys`, which are changed, but for `key`, which may be missing."""
    if isinstance(keys, dict):
        keys.pop(key, None)
    return keys or NOBODY


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
