"""How siblings divide, beside a plain reading of it: Pods that are all alike are nothing but numbers."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from build import Manifest, Story, composite, node
from domain.events import PodBound, SchedulerConfigured
from domain.scheduling.cycle import decide
from trees import inner, leaf

_CASES = settings().max_examples * 4


@dataclass
class Group:
    """A PodGroup with so many `pods`, of which so many have a `place`, or a composite with `below`."""

    name: str
    minimum: int | None
    pods: int = 0
    below: "list[Group]" = field(default_factory=list)
    started: bool | None = None
    """None: not tried yet."""
    place: int = 0

    @property
    def needs(self) -> int:
        return self.minimum or 1

    def each(self) -> "Iterator[Group]":
        yield self
        for child in self.below:
            yield from child.each()

    def running(self) -> "Iterator[Group]":
        """It and those below it that started, with all above them."""
        if self.started:
            yield self
            for child in self.below:
                yield from child.running()

    def manifests(self, parent: str | None = None) -> list[Manifest]:
        if not self.below:
            return leaf(self.name, self.minimum, [1] * self.pods, parent=parent)
        made = [
            composite(self.name, self.minimum)
            if parent is None
            else inner(self.name, self.minimum, parent=parent)
        ]
        for child in self.below:
            made += child.manifests(self.name)
        return made


@st.composite
def groups(draw: st.DrawFn, name: str = "t", level: int = 1) -> Group:
    """A tree of up to four levels."""
    size = draw(st.integers(1, 4 if level > 1 else 3))
    minimum = draw(st.sampled_from([None, *range(1, size + 1)]))
    if level > 1 and (level == 4 or draw(st.booleans())):
        return Group(name, minimum, pods=size)
    below = [draw(groups(f"{name}{number}", level + 1)) for number in range(min(size, 3))]
    return Group(name, min(minimum or 1, 3), below=below)


class Division:
    """So many places, and who gets them."""

    def __init__(self, root: Group, places: int) -> None:
        self.root, self.places = root, places
        self.free = places

    def again(self) -> None:
        self.free = self.places
        for group in self.root.each():
            group.started, group.place = None, 0

    def greedy(self) -> int:
        """Each takes what it can; how many groups start."""
        self._try(self.root, most_members=None, most_groups=None)
        return len(list(self.root.running()))

    def lean(self) -> int:
        """Each takes its minimum, then composites start more groups; how many groups start."""
        self.again()
        self._try(self.root, most_members=0, most_groups=None)
        self._more_groups(self.root)
        return len(list(self.root.running()))

    def more_members(self) -> None:
        """Those that started take what is left."""
        for group in self.root.running():
            more = min(group.pods - group.place, self.free)
            self.free -= more
            group.place += more

    def _try(self, group: Group, *, most_members: int | None, most_groups: int | None) -> bool:
        """Start `group`, with not more members or groups than its minimum unless that is None."""
        before = self.free
        if not group.below:
            wanted = group.pods if most_members is None else min(group.needs, group.pods)
            group.place = min(wanted, self.free)
            self.free -= group.place
            group.started = group.place >= group.needs
        else:
            have, left = 0, len(group.below)
            for child in group.below:
                if have + left < group.needs or (most_groups is not None and have >= group.needs):
                    break
                left -= 1
                have += self._try(child, most_members=most_members, most_groups=most_members)
            group.started = have >= group.needs
        if not group.started:
            self.free = before
        return group.started

    def _more_groups(self, group: Group) -> None:
        if group.started:
            for child in group.below:
                if child.started is None:
                    self._try(child, most_members=0, most_groups=0)
            for child in group.below:
                self._more_groups(child)


def divided(root: Group, places: int) -> tuple[bool, dict[str, int]]:
    """Whether the lean division counts, and how many of each PodGroup have a place then."""
    division = Division(root, places)
    greedy = division.greedy()
    lean = greedy < len(list(root.each())) and division.lean() > greedy
    if lean:
        division.more_members()
    else:
        division.again()
        division.greedy()
    return lean, {group.name: group.place for group in root.running() if group.place}


@settings(max_examples=_CASES)
@given(root=groups(), places=st.integers(0, 12), hosts=st.sampled_from([1, 2, 12]))
def test_lean_gives_every_group_its_minimum_before_any_gets_more(
    root: Group, places: int, hosts: int
) -> None:
    nodes = [node(f"n{number}", cpu=str((places + number) // hosts)) for number in range(hosts)]
    story = Story(*nodes, *root.manifests()).append(SchedulerConfigured(siblings="lean"))
    decision = decide(story.state, story.now)
    if decision is None:  # without a quorum
        return
    bound = [made.group or "" for made in decision.payloads if isinstance(made, PodBound)]
    found = decision.attempt.lean, Counter(name.rpartition("/")[2] for name in bound)
    assert found == divided(root, places)
    assert all(group.status != "Untried" for group in decision.attempt.groups)
