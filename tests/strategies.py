"""The strategies of `ganger_testing` as these tests use them, and forests of groups."""

from typing import NamedTuple

from hypothesis import strategies as st

from books import Book
from build import Manifest, Story, composite, fact, group, pod
from domain import events as ev
from domain.events import Event
from ganger_testing import strategies as everything
from ganger_testing.actions import Action, perform
from ganger_testing.manifests import priority_class
from ganger_testing.strategies import CLASSES, GROUPS, actions, node_manifests

__all__ = [
    "CLASSES",
    "Action",
    "ForestStep",
    "actions",
    "books",
    "forests",
    "logs",
    "node_manifests",
    "perform",
    "priority_class",
    "take_step",
]


def books(*, min_size: int = 0, max_size: int = 40) -> st.SearchStrategy[Book]:
    """Clusters by the default profile, of which many properties tell."""
    return everything.books(min_size=min_size, max_size=max_size, asked=actions())


def logs(*, min_size: int = 0, max_size: int = 40) -> st.SearchStrategy[list[Event]]:
    """The events of such clusters."""
    return everything.logs(min_size=min_size, max_size=max_size, asked=actions())


COMPOSITES = ("c0", "c1", "c2", "c3", "c4", "c5")


class ForestStep(NamedTuple):
    """Something that comes, goes or changes in a forest of groups; which of them it is depends on
    whether it is there. `parent` and `need` are those of a group that comes or changes, `born` the
    second of its creation; a Pod that comes is on a node if `bound`."""

    kind: str
    name: str
    parent: str | None
    need: int | None
    born: int
    bound: bool
    goes: bool


def forests(*, min_size: int = 25, max_size: int = 60) -> st.SearchStrategy[list[ForestStep]]:
    """Groups and Pods in any order, with parents that are missing, moved, rings, or too many."""
    names = [
        *(("CompositePodGroup", name) for name in COMPOSITES),
        *(("PodGroup", name) for name in GROUPS),
        *(("Pod", f"{name}-{number}") for name in GROUPS for number in range(3)),
    ]
    step = st.builds(
        lambda name, *rest: ForestStep(*name, *rest),
        st.sampled_from(names),
        st.sampled_from([None, *COMPOSITES]),
        st.sampled_from([None, 1, 1, 2, 2, 3]),
        st.integers(0, 2),
        st.booleans(),
        st.booleans(),
    )
    return st.lists(step, min_size=min_size, max_size=max_size)


def take_step(story: Story, step: ForestStep, uid: str) -> None:
    """Append what `step` comes to; nothing where it would change what cannot change."""
    key = f"default/{step.name}"
    of = step.name.partition("-")[0]
    pods = story.state.pods
    if step.kind == "Pod":
        if key in pods:
            story.append(
                ev.PodDeleted(key=key, uid=pods[key].uid, group=f"default/{of}", node=pods[key].node)
            )
        else:
            gates = ["a/b"] if step.goes and not step.bound else []
            made = pod(step.name, group=of, node="n" if step.bound else None, gates=gates)
            story.append(fact(_named(made, uid, step.born)))
        return
    known = story.state.groups_of(step.kind).get(key)
    parent = {"parentCompositePodGroupName": step.parent} if step.parent else {}
    build = composite if step.kind == "CompositePodGroup" else group
    if known is None:
        story.append(fact(_named(build(step.name, step.need, **parent), uid, step.born)))
    elif step.goes:
        story.append(ev.PAYLOADS[f"{step.kind}Deleted"](key=key, uid=known.uid))
    elif step.kind == "PodGroup" and known.policy == "gang":
        same = {"parentCompositePodGroupName": known.parent} if known.parent else {}
        changed = group(step.name, step.need or 1, **same)
        story.append(fact(_named(changed, known.uid, step.born), "Updated"))


def _named(manifest: Manifest, uid: str, born: int) -> Manifest:
    created = f"2026-01-01T00:00:0{born}Z"
    return {**manifest, "metadata": {**manifest["metadata"], "uid": uid, "creationTimestamp": created}}
