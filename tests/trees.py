"""Trees of groups for tests, and what they say once they have been decided."""

from collections.abc import Sequence
from typing import Any

from build import Manifest, Story, composite, group, pod

WRAP = "pod group is unschedulable, 0/1 placements are available, first placement status: "
NO_VICTIMS = ", pod group preemption: No preemption victims found for incoming preemptor"


def rack() -> Manifest:
    """A topology constraint on the label `rack`."""
    return within("rack")


def within(key: str) -> Manifest:
    """A topology constraint on `key`, as a field of a group's spec."""
    return {"schedulingConstraints": {"topology": [{"key": key}]}}


def leaf(
    name: str,
    min_count: int | None,
    cpus: Sequence[int],
    *,
    parent: str | None = None,
    pods: Manifest | None = None,
    **spec: Any,
) -> list[Manifest]:
    """A PodGroup with a Pod `name-0`, `name-1`, … for each number of cores in `cpus`."""
    above = {} if parent is None else _above(parent)
    return [
        group(name, min_count, **above, **spec),
        *(
            pod(f"{name}-{number}", cpu=cpu * 1000, group=name, **(pods or {}))
            for number, cpu in enumerate(cpus)
        ),
    ]


def inner(name: str, min_groups: int | None, *, parent: str, **spec: Any) -> Manifest:
    """A composite below another one."""
    return composite(name, min_groups, parentCompositePodGroupName=parent, **spec)


def _above(parent: str) -> Manifest:
    return {
        "parentCompositePodGroupName": parent,
        "workloadRef": {"workloadName": "job", "templateName": "leaf"},
    }


def said(story: Story, *names: str) -> dict[str, str]:
    """The message of the condition of each object in `default`: `CompositePodGroup/x`, `Pod/y`; "bound"
    for a Pod on a node, the status of a condition that has no message."""
    return {name: _said(story, name) for name in names}


def _said(story: Story, name: str) -> str:
    kind, _, short = name.partition("/")
    key = f"default/{short}"
    if kind == "Pod":
        pod = story.state.pods[key]
        if pod.node is not None:
            return "bound"
        condition = pod.condition
    else:
        found = story.state.group_of(f"{kind}/{key}")
        assert found is not None
        condition = found.condition
    if condition is None:
        return ""
    return condition.message or condition.status


def reasons(story: Story) -> set[str]:
    """The reasons of all conditions of groups and of Pods without a node."""
    state = story.state
    holders = [*state.groups.values(), *state.composites.values()]
    holders += [pod for pod in state.pods.values() if pod.node is None]  # type: ignore[misc]
    return {holder.condition.reason for holder in holders if holder.condition is not None}
