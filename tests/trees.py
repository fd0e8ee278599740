"""Trees of groups for tests, and what they say once they have been decided."""

from build import Manifest, Story
from ganger_testing.manifests import inner, leaf, within

__all__ = ["NO_VICTIMS", "WRAP", "inner", "leaf", "rack", "reasons", "said", "within"]

WRAP = "pod group is unschedulable, 0/1 placements are available, first placement status: "
NO_VICTIMS = ", pod group preemption: No preemption victims found for incoming preemptor"


def rack() -> Manifest:
    """A topology constraint on the label `rack`."""
    return within("rack")


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
