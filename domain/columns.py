"""Pods and groups as they are encoded: a column a field, so that many are read at once.

What equal records have in common stands once in a column and is one object once it is read.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, Generic, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from domain.events import Deletion
from domain.objects import Condition, Exceptions, Group, Pod, PodSpec
from domain.roster import Rows
from domain.uids import KeptUid

T = TypeVar("T")

_NUMBER: Final = np.dtype("<i8")
_INDEX: Final = np.dtype("<i4")
_NO_UID: Final = bytes(16)
_UID: Final = np.dtype((np.void, len(_NO_UID)))


class Distinct(msgspec.Struct, Generic[T], array_like=True, gc=False):
    """A column of values of which many are equal: `values` in the order in which they first appear,
    and for each record 32 bits that say which of them it has."""

    values: list[T]
    packed: bytes

    @classmethod
    def of(cls, column: Iterable[T]) -> "Distinct[T]":
        """The column that holds `column`."""
        numbers: dict[T, int] = {}
        which = np.array([numbers.setdefault(value, len(numbers)) for value in column], dtype=_INDEX)
        return cls(list(numbers), which.tobytes())

    @property
    def which(self) -> NDArray[np.int32]:
        """Which of `values` each record has."""
        return np.frombuffer(self.packed, dtype=_INDEX)

    def those(self, predicate: Callable[[T], bool]) -> NDArray[np.bool_]:
        """For each record whether `predicate` holds for its value."""
        return np.fromiter(map(predicate, self.values), dtype=np.bool_)[self.which]

    def read(self, shared: Mapping[T, Any] | None = None) -> list[T]:
        """The value of each record, equal ones being one object: the one in `shared`, if it is there.

        Raises ValueError if a record has none of the values.
        """
        known = self.values if shared is None else [shared.get(value, value) for value in self.values]
        which = self.which
        if len(known) <= 1 and not self.packed.strip(b"\0"):
            return known * len(which)
        if not 0 <= which.min() <= which.max() < len(known):
            raise ValueError("a column refers to values that it does not have")
        values = np.empty(len(known), dtype=object)
        values[:] = known
        found: list[T] = values[which].tolist()
        return found


class Numbers(msgspec.Struct, array_like=True, gc=False):
    """A column of whole numbers of 64 bits, of which few are equal."""

    packed: bytes

    @classmethod
    def of(cls, column: Sequence[int]) -> "Numbers":
        """The column that holds `column`."""
        return cls(np.fromiter(column, dtype=_NUMBER, count=len(column)).tobytes())

    def read(self) -> list[int]:
        """The number of each record."""
        numbers: list[int] = np.frombuffer(self.packed, dtype=_NUMBER).tolist()
        return numbers

    def read_beside(self, other: "Numbers", read: list[int]) -> list[int]:
        """The number of each record, the very object of `other` as `read` where they are equal."""
        if self.packed == other.packed:
            return read
        pairs = zip(read, self.read(), strict=True)
        return [number if number == own else own for number, own in pairs]


class Uids(msgspec.Struct, array_like=True, gc=False):
    """A column of uids: 16 bytes each, and the texts of those records whose bytes say nothing."""

    packed: bytes
    texts: dict[int, str]

    @classmethod
    def of(cls, column: Sequence[KeptUid]) -> "Uids":
        """The column that holds `column`."""
        texts = {record: uid for record, uid in enumerate(column) if isinstance(uid, str)}
        return cls(b"".join(_NO_UID if isinstance(uid, str) else uid for uid in column), texts)

    def read(self) -> list[KeptUid]:
        """The uid of each record. Raises ValueError if there are texts for others."""
        uids: list[KeptUid] = np.frombuffer(self.packed, dtype=_UID).tolist()
        for record, text in self.texts.items():
            if not 0 <= record < len(uids):
                raise ValueError("a column has a uid for a record that it does not have")
            uids[record] = text
        return uids


class PodColumns(msgspec.Struct, kw_only=True, array_like=True, gc=False):
    """Pods: a column for each field of Pod."""

    keys: list[str]
    uids: Uids
    specs: Distinct[PodSpec]
    groups: Distinct[str | None]
    nodes: Distinct[str | None]
    phases: Distinct[str]
    arrivals: Numbers
    manifests: Numbers
    revisions: Numbers
    created: Distinct[int]
    queued: Distinct[int]
    started: Distinct[int | None]
    attempts: Distinct[int]
    generations: Distinct[int]
    conditions: Distinct[Condition | None]
    exceptions: Distinct[Exceptions]

    @classmethod
    def of(cls, pods: Sequence[Pod]) -> "PodColumns":
        """The columns that hold `pods`."""
        return cls(
            keys=[pod.key for pod in pods],
            uids=Uids.of([pod.kept_uid for pod in pods]),
            specs=Distinct.of([pod.spec for pod in pods]),
            groups=Distinct.of([pod.group for pod in pods]),
            nodes=Distinct.of([pod.node for pod in pods]),
            phases=Distinct.of([pod.phase for pod in pods]),
            arrivals=Numbers.of([pod.arrival for pod in pods]),
            manifests=Numbers.of([pod.manifest for pod in pods]),
            revisions=Numbers.of([pod.revision for pod in pods]),
            created=Distinct.of([pod.created_us for pod in pods]),
            queued=Distinct.of([pod.queued_us for pod in pods]),
            started=Distinct.of([pod.started_us for pod in pods]),
            attempts=Distinct.of([pod.attempts for pod in pods]),
            generations=Distinct.of([pod.generation for pod in pods]),
            conditions=Distinct.of([pod.condition for pod in pods]),
            exceptions=Distinct.of([pod.exceptions for pod in pods]),
        )

    def read(self, keys: Mapping[str | None, str]) -> list[Pod]:
        """The Pods. Names of groups and nodes that are among `keys` are those, not made again."""
        arrivals = self.arrivals.read()
        return _records(
            Pod,
            self.keys,
            self.uids.read(),
            self.specs.read(),
            self.groups.read(keys),
            self.nodes.read(keys),
            self.phases.read(),
            arrivals,
            self.manifests.read_beside(self.arrivals, arrivals),
            self.revisions.read_beside(self.arrivals, arrivals),
            self.created.read(),
            self.queued.read(),
            self.started.read(),
            self.attempts.read(),
            self.generations.read(),
            self.conditions.read(),
            self.exceptions.read(),
        )


class GroupColumns(msgspec.Struct, kw_only=True, array_like=True, gc=False):
    """Groups: a column for each field of Group."""

    keys: list[str]
    uids: Uids
    policies: Distinct[str]
    min_counts: Distinct[int]
    priorities: Distinct[int]
    preemption_policies: Distinct[str]
    parents: Distinct[str | None]
    topology_keys: Distinct[str | None]
    arrivals: Numbers
    manifests: Numbers
    revisions: Numbers
    created: Distinct[int]
    deletions: Distinct[Deletion | None]
    conditions: Distinct[Condition | None]
    disrupted_whole: Distinct[bool]
    disruptions: Distinct[Condition | None]
    kinds: Distinct[str]

    @classmethod
    def of(cls, groups: Sequence[Group]) -> "GroupColumns":
        """The columns that hold `groups`."""
        return cls(
            keys=[group.key for group in groups],
            uids=Uids.of([group.kept_uid for group in groups]),
            policies=Distinct.of([group.policy for group in groups]),
            min_counts=Distinct.of([group.min_count for group in groups]),
            priorities=Distinct.of([group.priority for group in groups]),
            preemption_policies=Distinct.of([group.preemption_policy for group in groups]),
            parents=Distinct.of([group.parent for group in groups]),
            topology_keys=Distinct.of([group.topology_key for group in groups]),
            arrivals=Numbers.of([group.arrival for group in groups]),
            manifests=Numbers.of([group.manifest for group in groups]),
            revisions=Numbers.of([group.revision for group in groups]),
            created=Distinct.of([group.created_us for group in groups]),
            deletions=Distinct.of([group.deletion for group in groups]),
            conditions=Distinct.of([group.condition for group in groups]),
            disrupted_whole=Distinct.of([group.disrupted_whole for group in groups]),
            disruptions=Distinct.of([group.disruption for group in groups]),
            kinds=Distinct.of([group.kind for group in groups]),
        )

    def read(self) -> list[Group]:
        """The groups."""
        arrivals = self.arrivals.read()
        return _records(
            Group,
            self.keys,
            self.uids.read(),
            self.policies.read(),
            self.min_counts.read(),
            self.priorities.read(),
            self.preemption_policies.read(),
            self.parents.read(),
            self.topology_keys.read(),
            arrivals,
            self.manifests.read_beside(self.arrivals, arrivals),
            self.revisions.read_beside(self.arrivals, arrivals),
            self.created.read(),
            self.deletions.read(),
            self.conditions.read(),
            self.disrupted_whole.read(),
            self.disruptions.read(),
            self.kinds.read(),
        )


def together(rows: Rows, column: NDArray[Any], of: Sequence[T]) -> Iterator[tuple[int, list[T]]]:
    """For each value of `column`, the first of the `rows` that have it, and what stands in `of` at all of
    them, in their order."""
    by_value = rows[np.argsort(column[rows], kind="stable")]
    begins = np.flatnonzero(np.diff(column[by_value], prepend=-1))
    in_order = [of[row] for row in by_value.tolist()]
    ends = [*begins.tolist(), len(in_order)]
    for row, (begin, end) in zip(by_value[begins].tolist(), pairwise(ends), strict=True):
        yield row, in_order[begin:end]


def counted(rows: Rows, *columns: NDArray[Any]) -> Iterator[tuple[int, int]]:
    """One of the `rows` for each combination of values of `columns`, and how many have that."""
    combined = np.zeros(len(rows), dtype=np.int64)
    for column in columns:
        combined = combined * (int(column.max(initial=0)) + 1) + column[rows]
    _, firsts, counts = np.unique(combined, return_index=True, return_counts=True)
    return zip(rows[firsts].tolist(), counts.tolist(), strict=True)


def _records(record: Callable[..., T], *columns: list[Any]) -> list[T]:
    """A record of each row of `columns`. Raises ValueError if they are not of one length."""
    if len(set(map(len, columns))) > 1:
        raise ValueError("columns of one table differ in length")
    return list(map(record, *columns))
