"""A tree of groups as lines: each with what it needs and has, those that are alike as one."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cli.text.lines import FAINT, LABEL, Cell, Page, plain
from domain.explaining.wording import so_many
from domain.explanation import TreeNode
from domain.objects import POD_GROUP

_WIDTH = 108
_OTHERS = 2
"""Beside the way to what decided, so many different kinds of groups are shown below each."""

_ON_PATH = ">"


class _Way(NamedTuple):
    """The groups that are shown in any case: those of the `path` to what decided, and the one `asked`
    about."""

    path: Sequence[str]
    asked: str

    def leads_through(self, node: TreeNode) -> bool:
        """Whether one of these is `node` or below it."""
        return node.group in self.path or self.ends_in(node)

    def ends_in(self, node: TreeNode) -> bool:
        """Whether the group that is asked about is `node` or below it."""
        return node.group == self.asked or any(map(self.ends_in, node.children))


def add_tree(page: Page, tree: TreeNode, *, path: Sequence[str], asked: str) -> None:
    """Add `tree` to `page`, with the `path` to what decided marked."""
    heads: list[Cell] = [(head, FAINT) for head in ("group", "needs", "has", "run", "fit", "")]
    rows = [heads, *_rows(tree, _Way(path, asked), depth=0)]
    page.columns(_fitting(rows), align="<<>>><")


def _fitting(rows: list[list[Cell]]) -> list[list[Cell]]:
    """`rows` with the last column cut so that lines are not too long."""
    widths = [max(len(plain(row[column])) for row in rows) for column in range(len(rows[0]) - 1)]
    left = max(_WIDTH - sum(widths) - 3 * len(widths) - 2, 24)
    for row in rows:
        told = plain(row[-1])
        if len(told) > left:
            row[-1] = f"{told[: left - 1].rstrip(' ,:')}…"
    return rows


def _rows(node: TreeNode, way: _Way, *, depth: int) -> Iterator[list[Cell]]:
    yield _row(node, way, depth)
    if depth and not way.leads_through(node):
        return
    kinds = _kinds(node.children, way)
    shown = [kind for kind in kinds if way.leads_through(kind[0])]
    others = [kind for kind in kinds if kind not in shown]
    shown += others[:_OTHERS]
    hidden = [each for kind in others[_OTHERS:] for each in kind]
    for kind in kinds:
        if kind in shown:
            yield from _rows(kind[0], way, depth=depth + 1)
            if len(kind) > 1:
                yield _note(f"{so_many(len(kind) - 1, 'more group')} like it", kind[0].reason, depth + 1)
    if hidden:
        reasons = dict.fromkeys(each.reason for each in hidden)
        told = next(iter(reasons)) if len(reasons) == 1 else "each in another way"
        yield _note(so_many(len(hidden), "more group"), told, depth + 1)


def _kinds(children: Sequence[TreeNode], way: _Way) -> list[list[TreeNode]]:
    """Groups that are alike, together, in the order of the first of each; those on the way by themselves."""
    kinds: list[list[TreeNode]] = []
    for child in children:
        apart = way.leads_through(child)
        found = (kind for kind in kinds if not apart and not way.leads_through(kind[0]))
        alike = next((kind for kind in found if _alike(kind[0], child)), None)
        if alike is None:
            kinds.append([child])
        else:
            alike.append(child)
    return kinds


def _alike(first: TreeNode, second: TreeNode) -> bool:
    """Whether two groups need, have and lack the same, they and all below them."""
    return (
        _figures(first) == _figures(second)
        and len(first.children) == len(second.children)
        and all(map(_alike, first.children, second.children))
    )


def _figures(node: TreeNode) -> tuple[object, ...]:
    kind = node.group.partition("/")[0]
    return (kind, node.policy, node.min_count, node.created, node.scheduled, node.placeable, node.reason)


def _row(node: TreeNode, way: _Way, depth: int) -> list[Cell]:
    mark = _ON_PATH if node.group in way.path else " "
    name = f"{mark} {'  ' * depth}{node.group.rpartition('/')[2]}"
    what = "Pod" if node.group.startswith(f"{POD_GROUP}/") else "group"
    needs = f"{node.min_count} {what}{'' if node.min_count == 1 else 's'}"
    had = "" if node.placeable is None else str(node.placeable)
    domain = f"{node.domain}: " if node.domain and not node.reason.startswith("0/") else ""
    closed = node.children and depth and not way.leads_through(node)
    held = f" ({len(node.children)} below)" if closed else ""
    return [
        (name, LABEL) if node.group == way.asked else name,
        needs,
        str(node.created),
        str(node.scheduled),
        had,
        f"{domain}{node.reason}{held}",
    ]


def _note(name: str, told: str, depth: int) -> list[Cell]:
    return [(f"  {'  ' * depth}{name}", FAINT), "", "", "", "", (told, FAINT)]
