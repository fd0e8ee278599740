"""A lower minCount, which may change as it is, or a lower minGroupCount, for which a tree is made anew."""

from collections.abc import Iterator
from functools import partial

from domain.objects import POD_GROUP, Group
from domain.whathelps.changes import Alter, Candidate, Edit, Manifest, Proved
from domain.whathelps.proving import Prover
from domain.whathelps.scene import Scene

_FIELDS = {POD_GROUP: "minCount", "CompositePodGroup": "minGroupCount"}
_MOST_GROUPS = 8


def lower_minimum(scene: Scene, prover: Prover) -> Iterator[Proved]:
    """The highest minimum below the present one that helps; of several groups the first, leaves before
    what is above them."""
    leaves_first = sorted(scene.groups, key=lambda group: group.kind != POD_GROUP)
    gangs = [group for group in leaves_first if group.min_count > 1]
    for group in gangs[:_MOST_GROUPS]:
        if _edit(scene, group, 1) is None:
            continue
        found = prover.least(group.min_count - 1, partial(_lower, scene, group))
        if found is not None:
            yield found[1]
            return


def _lower(scene: Scene, group: Group, by: int) -> Candidate:
    minimum = group.min_count - by
    field = _FIELDS[group.kind]
    alone = len(scene.groups) == 1
    what = f"lower {field}" if alone else f"lower {field} of {group.kind} {group.key}"
    if group.kind != POD_GROUP:
        what = f"create the tree of {scene.entity.kind} {scene.entity.key} anew with {field} of {group.name}"
    edit = _edit(scene, group, minimum)
    assert edit is not None, "whether it can be made anew does not depend on the minimum"
    return Candidate(
        kind="lowerMinimum",
        text=f"{what} {'to' if group.kind == POD_GROUP else 'lowered to'} {minimum}",
        edits=(edit,),
        subjects=(group.subject,),
        before=str(group.min_count),
        after=str(minimum),
    )


def _edit(scene: Scene, group: Group, minimum: int) -> Edit | None:
    def lower(manifest: Manifest) -> None:
        if manifest["kind"] == group.kind and manifest["metadata"]["name"] == group.name:
            manifest["spec"]["schedulingPolicy"]["gang"][_FIELDS[group.kind]] = minimum

    if group.kind == POD_GROUP:
        return Alter(group.kind, group.key, lower)
    return scene.all_anew(lower)
