"""What is called infeasible has no placement, held against a search through all of them."""

from collections.abc import Sequence
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from build import Story, group, node, pod
from domain.explaining.proof import infeasible
from domain.room import Room
from domain.scheduling.evaluate import fits
from domain.shapes import PodShape

GANG = "PodGroup/default/trainer"


def can_place(room: Room, shapes: Sequence[PodShape], needed: int) -> bool:
    """Whether some `needed` of `shapes` can be on nodes together."""
    if needed == 0:
        return True
    if needed > len(shapes):
        return False
    first, rest = shapes[0], shapes[1:]
    for row in range(len(room)):
        if fits(room, first, row):
            room.assume(row, first)
            found = can_place(room, rest, needed - 1)
            room.forget(row, first)
            if found:
                return True
    return can_place(room, rest, needed)


def specs() -> st.SearchStrategy[dict[str, Any]]:
    """What `pod` makes a member of."""
    return st.fixed_dictionaries(
        {"cpu": st.sampled_from([500, 1000, 2000]), "gpu": st.sampled_from([None, 1, 2])},
        optional={
            "tolerations": st.just([{"operator": "Exists"}]),
            "ports": st.just([{"containerPort": 80, "hostPort": 80}]),
        },
    )


@st.composite
def gangs(draw: st.DrawFn, shapes: int = 4) -> Story:
    """A gang of up to four members of up to so many shapes, and up to three nodes."""
    nodes = [
        draw(
            st.builds(
                node,
                st.just(f"n{index}"),
                cpu=st.sampled_from(["1", "2", "3"]),
                gpu=st.sampled_from([None, 1, 2, 3]),
                pods=st.sampled_from([1, 2, 110]),
                taints=st.sampled_from([(), ({"key": "gpu", "effect": "NoSchedule"},)]),
            )
        )
        for index in range(draw(st.integers(0, 3)))
    ]
    kinds = [draw(specs()) for _ in range(shapes)]
    size = draw(st.integers(1, 4))
    gang = [pod(f"trainer-{i}", group="trainer", **draw(st.sampled_from(kinds))) for i in range(size)]
    return Story(*nodes, group("trainer", draw(st.integers(1, size))), *gang)


def placeable(story: Story) -> bool:
    """Whether the gang could start, by a search through all placements."""
    state = story.state
    shapes = [waiting.spec.shape for waiting in state.pending_of(state.queue.entities[GANG])]
    return can_place(state.nodes.for_cycle(), shapes, state.groups["default/trainer"].min_count)


@given(gangs())
def test_infeasible_means_that_no_placement_exists(story: Story) -> None:
    argument = infeasible(story.state, story.state.queue.entities[GANG])
    event("shown to be infeasible" if argument else "not shown")
    if argument is not None:
        assert not placeable(story)


@given(gangs(shapes=1))
def test_for_a_gang_of_one_shape_every_infeasibility_is_shown(story: Story) -> None:
    argument = infeasible(story.state, story.state.queue.entities[GANG])
    assert (argument is None) == placeable(story)
