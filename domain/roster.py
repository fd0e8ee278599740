"""The nodes of a cluster side by side, sorted by name: their facts as columns.

A Roster never changes; when a Node does, the table makes another one. Columns have one element a
node, so that rows are in the order of names and the first of equals is the smallest name.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from domain.node_facts import NodeFacts
from domain.resources import CPU, MEMORY, PODS
from domain.shapes import PodShape
from domain.taints import Taint

Mask: TypeAlias = NDArray[np.bool_]
Whole: TypeAlias = NDArray[np.int64] | NDArray[np.object_]
"""Whole numbers: int64, or Python's own where an amount passes `LARGEST`."""
Rows: TypeAlias = NDArray[np.intp]

LARGEST = 2**56
"""Columns with larger amounts hold Python's integers, exact and slow. A hundred times this fits int64."""

NO_DOMAIN = -1
"""Stands where a number of a domain would, for nodes that lack the label."""

CPU_AND_MEMORY = slice(1, 3)
"""Their columns: a Roster's resources begin with pods, cpu and memory."""

_LARGEST_PRODUCT = 2.0**62 * (1 - 2.0**-40)
_REMEMBERED = 512

T = TypeVar("T")
Element = TypeVar("Element", bound=np.generic)


def whole_numbers(numbers: Sequence[int] | Sequence[Sequence[int]]) -> Whole:
    """`numbers`, none of them negative, as an array."""
    try:
        narrow = np.array(numbers, dtype=np.int64)
    except OverflowError:
        return np.array(numbers, dtype=np.object_)
    return np.array(numbers, dtype=np.object_) if narrow.max(initial=0) > LARGEST else narrow


def compact(column: NDArray[Element]) -> NDArray[Element]:
    """`column`, read-only and in the memory of one element if all are equal."""
    if len(column) and np.all(column == column[0]):
        return np.broadcast_to(column[0], column.shape)
    return column


class Labels(NamedTuple):
    """One label of all nodes: `codes` are indices into `values`, -1 for nodes without the label."""

    values: list[str]
    codes: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Domains:
    """The nodes of a roster by their value of one label, without those that lack it.

    `names` are the D values, sorted. `rows` are the nodes, domain by domain and rising in each;
    `starts`, of shape (D,), are the places in `rows` where the domains begin. `of`, of shape (N,), is
    the number of each node's domain, NO_DOMAIN for those that lack the label.
    """

    names: list[str]
    rows: Rows
    starts: Rows
    of: Rows

    def __len__(self) -> int:
        return len(self.names)

    def rows_of(self, domain: int) -> Rows:
        """The nodes of domain number `domain`."""
        end = self.starts[domain + 1] if domain + 1 < len(self) else len(self.rows)
        return self.rows[self.starts[domain] : end]

    def sums(self, column: Whole) -> Whole:
        """`column`, with one element a node and none negative, added up by domain: shape (D,), exact."""
        if column.dtype != np.object_ and int(column.max()) * len(column) > LARGEST:
            column = column.astype(np.object_)
        sums: Whole = np.add.reduceat(column.take(self.rows), self.starts)
        return sums


class Images:
    """Which images are on how many of the nodes of a cluster."""

    def __init__(self, cluster: Sequence[NodeFacts]) -> None:
        self._cluster = cluster
        self._holders: dict[str, int] = {}

    def spread(self, size: int, image: str) -> int:
        """`size` times the share of nodes that have `image`, rounded down."""
        holders = self._holders.get(image)
        if holders is None:
            holders = self._holders[image] = sum(image in node.images for node in self._cluster)
        return size * holders // len(self._cluster)


class Balance(NamedTuple):
    """cpu × memory of each node, and 50 divided by it, to compare their utilisations.

    The product is 1 where a node has none of either.
    """

    product: NDArray[np.int64]
    factor: NDArray[np.float64]


class Shares(NamedTuple):
    """What shares of cpu and memory are reckoned with.

    `divisor`, of shape (2, N), is what is allocatable, 1 where there is none; `both`, of shape (N,), is
    1 for nodes that have cpu and memory, else 0.
    """

    divisor: Whole
    both: NDArray[np.int64]


class Roster:
    """The facts of N nodes.

    `resources` are `pods`, `cpu`, `memory`, then every other resource that some node has, sorted, or
    those that are given; `allocatable` is of shape (R, N). `images` are those of the whole cluster, of
    which the nodes may be a part.
    """

    def __init__(
        self, nodes: Iterable[NodeFacts], resources: list[str] | None = None, images: Images | None = None
    ) -> None:
        self.facts = sorted(nodes, key=lambda facts: facts.name)
        self.names = [facts.name for facts in self.facts]
        self.row = {name: row for row, name in enumerate(self.names)}
        self.resources = _resources(self.facts) if resources is None else resources
        self.column = {resource: column for column, resource in enumerate(self.resources)}
        self.allocatable: Whole = np.array(
            [
                whole_numbers([int(facts.allocatable.get(resource, 0)) for facts in self.facts])
                for resource in self.resources
            ]
        )
        cpu, memory = self.allocatable[CPU_AND_MEMORY]
        self.balance = _balance(cpu, memory)
        """None where the products do not fit int64."""
        self.shares = Shares(
            np.maximum(self.allocatable[CPU_AND_MEMORY], 1), ((cpu > 0) & (memory > 0)).astype(np.int64)
        )
        self.images = Images(self.facts) if images is None else images
        self.cordoned = np.array([facts.unschedulable for facts in self.facts], dtype=np.bool_)
        """The nodes that are unschedulable."""
        self.stocked = [row for row, facts in enumerate(self.facts) if facts.images]
        """The rows of the nodes that report any images."""
        numbers: dict[tuple[Taint, ...], int] = {}
        self._tainted = np.array(
            [numbers.setdefault(facts.taints, len(numbers)) for facts in self.facts], dtype=np.intp
        )
        self._taints = list(numbers)
        """The distinct taints of nodes, to which `_tainted` has an index for each node."""
        self._labels: dict[str, Labels] = {}
        self._domains: dict[str, Domains] = {}
        self._offered: dict[str, Whole] = {}
        self._parts: dict[tuple[str, int], Roster] = {}
        self._remembered: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self.names)

    def labels(self, key: str) -> Labels:
        """The label `key` of every node."""
        labels = self._labels.get(key)
        if labels is None:
            labels = self._labels[key] = _labels([facts.labels.get(key) for facts in self.facts])
        return labels

    def domains(self, key: str) -> Domains:
        """The nodes that have the label `key`, by its value."""
        domains = self._domains.get(key)
        if domains is None:
            domains = self._domains[key] = _domains(self.labels(key))
        return domains

    def offered(self, key: str) -> Whole:
        """`allocatable`, added up by `domains(key)`: shape (R, D)."""
        offered = self._offered.get(key)
        if offered is None:
            domains = self.domains(key)
            offered = self._offered[key] = np.array([domains.sums(column) for column in self.allocatable])
        return offered

    def part(self, key: str, domain: int) -> "Roster":
        """The nodes of one of `domains(key)`, in the same order and with the same resources."""
        part = self._parts.get((key, domain))
        if part is None:
            facts = [self.facts[row] for row in self.domains(key).rows_of(domain).tolist()]
            part = self._parts[key, domain] = Roster(facts, self.resources, self.images)
        return part

    def remembered(self, what: Callable[..., T], shape: PodShape, *more: Hashable) -> T:
        """`what(self, shape, *more)`, worked out once for as long as it is among the last few hundred.

        `more` is all that the answer depends on beside the nodes and the shape.
        """
        key = (what, shape, *more)
        found: T | None = self._remembered.get(key)
        if found is None:
            if len(self._remembered) >= _REMEMBERED:
                del self._remembered[next(iter(self._remembered))]
            found = self._remembered[key] = what(self, shape, *more)
        return found

    def mask(self, names: Iterable[str]) -> Mask:
        """The nodes with one of `names`; unknown names stand for none."""
        mask = np.zeros(len(self), dtype=np.bool_)
        mask[[self.row[name] for name in names if name in self.row]] = True
        return mask

    def by_taints(self, judge: Callable[[tuple[Taint, ...]], int], dtype: type[Element]) -> NDArray[Element]:
        """What `judge` says of the taints of each node, asked once for each distinct value."""
        return np.array([judge(taints) for taints in self._taints], dtype=dtype)[self._tainted]


def _resources(nodes: Iterable[NodeFacts]) -> list[str]:
    first = [PODS, CPU, MEMORY]  # as CPU_AND_MEMORY has it
    offered = {resource for facts in nodes for resource in facts.allocatable}
    return [*first, *sorted(offered.difference(first))]


def _balance(cpu: Whole, memory: Whole) -> Balance | None:
    if cpu.dtype == np.object_ or np.any(cpu.astype(np.float64) * memory > _LARGEST_PRODUCT):
        return None
    product = np.maximum(cpu * memory, 1)
    return Balance(product, 50 / product)


def _labels(values: list[str | None]) -> Labels:
    codes: dict[str, int] = {}
    column = np.array(
        [-1 if value is None else codes.setdefault(value, len(codes)) for value in values], dtype=np.intp
    )
    return Labels(list(codes), column)


def _domains(labels: Labels) -> Domains:
    by_name = sorted(range(len(labels.values)), key=labels.values.__getitem__)
    rank = np.empty(len(by_name) + 1, dtype=np.intp)
    rank[by_name] = np.arange(len(by_name))
    rank[-1] = NO_DOMAIN  # where the code of nodes without the label points to
    ranks = rank[labels.codes]
    rows = np.argsort(ranks, kind="stable")[np.count_nonzero(ranks == NO_DOMAIN) :]
    starts = np.searchsorted(ranks[rows], np.arange(len(by_name)))
    return Domains([labels.values[code] for code in by_name], rows, starts, ranks)
