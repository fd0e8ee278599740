"""What an attempt found for a tree, by group, and whose refusal a group shares."""

from collections.abc import Mapping
from typing import NamedTuple

from domain.events import GroupFinding, ShapeFinding
from domain.explaining.findings import Recorded
from domain.objects import POD_GROUP
from domain.scheduling import texts
from domain.state import State

RULED_OUT = ("Unschedulable", "Error")


class Found(NamedTuple):
    """What an attempt found for the groups of a tree, by subject."""

    groups: Mapping[str, GroupFinding]
    shapes: Mapping[str, tuple[ShapeFinding, ...]]
    """Of the members that fitted nowhere."""

    def ancestors(self, found: GroupFinding) -> list[GroupFinding]:
        """The groups above one, the nearest first."""
        above = []
        while found.parent is not None:
            found = self.groups[found.parent]
            above.append(found)
        return above

    def handed_down_by(self, found: GroupFinding) -> GroupFinding | None:
        """The group above that pulled this one down with it; None if its status is its own."""
        for number, above in enumerate(self.ancestors(found)):
            name = above.group.rpartition("/")[2]
            refused = texts.handed_down(name, above.text, parent=number == 0)
            if found.status in RULED_OUT and found.text == (
                refused if above.status == "Unschedulable" else above.text
            ):
                return above
        return None


def lacks_places_for_more(found: GroupFinding) -> bool:
    """Whether it is a PodGroup that has its minimum without those who were tried: none of them had a place.

    A group above it threw away what had been found for it.
    """
    beyond = found.scheduled >= found.minimum and not found.remaining and not found.placed
    return found.group.startswith(f"{POD_GROUP}/") and beyond and bool(found.untried)


def found_in(state: State, recorded: Recorded | None) -> Found | None:
    """What an attempt of a tree found; None if there was none, or none of a tree."""
    if recorded is None or not recorded.findings.groups:
        return None
    shapes: dict[str, tuple[ShapeFinding, ...]] = {}
    for shape in recorded.findings.shapes:
        pod = next((state.pods[key] for key in shape.pods if key in state.pods), None)
        if pod is not None and pod.group is not None:
            subject = f"{POD_GROUP}/{pod.group}"
            shapes[subject] = (*shapes.get(subject, ()), shape)
    return Found({found.group: found for found in recorded.findings.groups}, shapes)
