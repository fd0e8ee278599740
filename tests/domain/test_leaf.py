"""The leaf algorithm: all or nothing, greedy beyond the minimum, stopped as soon as it is hopeless."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import Story, group, node, pod
from domain.scheduling.leaf import Feasible, LeafResult, feasible, run_leaf
from domain.state import State


@pytest.mark.parametrize(
    ("minimum", "scheduled", "remaining", "expected"),
    [
        pytest.param(3, 3, 0, Feasible.MET, id="exactly the minimum"),
        pytest.param(3, 5, 0, Feasible.MET, id="more than the minimum"),
        pytest.param(3, 3, 9, Feasible.MET, id="met, with some to try"),
        pytest.param(3, 2, 1, Feasible.POSSIBLE, id="one short, one to try"),
        pytest.param(3, 0, 3, Feasible.POSSIBLE, id="all to try"),
        pytest.param(3, 2, 0, Feasible.IMPOSSIBLE, id="one short, none to try"),
        pytest.param(3, 1, 1, Feasible.IMPOSSIBLE, id="too few to try"),
        pytest.param(1, 0, 0, Feasible.IMPOSSIBLE, id="nobody"),
    ],
)
def test_feasible(minimum: int, scheduled: int, remaining: int, expected: Feasible) -> None:
    assert feasible(minimum, scheduled, remaining) is expected


def run(state: State, *, minimum: int, bound: int = 0) -> tuple[LeafResult, list[int]]:
    """The leaf of all Pods that wait, in order of arrival, and how full each node is afterwards."""
    room = state.nodes.for_cycle()
    waiting = [each for each in state.pods.values() if each.node is None]
    result = run_leaf(room, [(each, each.spec.shape) for each in waiting], minimum=minimum, bound=bound)
    slots = room.roster.column["pods"]
    return result, room.used[slots].tolist()


def members(*cpus: int) -> list[dict]:
    return [pod(f"p{number}", cpu=cpu * 1000, group="g") for number, cpu in enumerate(cpus)]


@pytest.mark.parametrize(
    ("cpus", "minimum", "bound", "expected"),
    [
        pytest.param((1, 1), 2, 0, ("", 2, 0, 2, 0, 0), id="just enough"),
        pytest.param((1, 1, 1, 1), 2, 0, ("", 4, 0, 4, 0, 0), id="greedy beyond the minimum"),
        pytest.param((1, 1, 1, 1, 1), 2, 0, ("", 4, 0, 4, 1, 0), id="more than fit, the minimum met"),
        pytest.param((9, 1, 1), 2, 0, ("", 2, 0, 2, 1, 0), id="a misfit before the minimum is met"),
        pytest.param((1, 9, 1, 9), 2, 0, ("", 2, 0, 2, 2, 0), id="misfits of one shape apart"),
        pytest.param((9,), 1, 1, ("", 1, 0, 0, 1, 0), id="met by those that run, nobody placed"),
        pytest.param(
            (1, 1, 1, 1, 1),
            5,
            0,
            ("minCount (5) cannot be satisfied: 4 scheduled, 0 remaining", 4, 0, 4, 1, 0),
            id="the last one does not fit",
        ),
        pytest.param(
            (9, 1, 1),
            3,
            0,
            ("minCount (3) cannot be satisfied: 0 scheduled, 2 remaining", 0, 2, 0, 1, 2),
            id="stopped at the first misfit",
        ),
        pytest.param(
            (3, 2, 2, 1),
            3,
            0,
            ("minCount (3) cannot be satisfied: 1 scheduled, 1 remaining", 1, 1, 1, 2, 1),
            id="no backtracking",
        ),
        pytest.param(
            (1, 9, 9, 1),
            2,
            0,
            ("", 2, 0, 2, 2, 0),
            id="stops only when it is hopeless",
        ),
        pytest.param(
            (1, 1),
            4,
            1,
            (
                "pod group is unschedulable, minCount (4) cannot be satisfied: 1 scheduled, 2 remaining",
                1,
                2,
                0,
                0,
                2,
            ),
            id="hopeless before anybody is tried",
        ),
        pytest.param(
            (),
            1,
            0,
            (
                "pod group is unschedulable, minCount (1) cannot be satisfied: 0 scheduled, 0 remaining",
                0,
                0,
                0,
                0,
                0,
            ),
            id="nobody to try",
        ),
        pytest.param((), 2, 2, ("", 2, 0, 0, 0, 0), id="nobody to try, nobody needed"),
    ],
)
def test_on_one_node_of_four_cores(
    cpus: tuple[int, ...], minimum: int, bound: int, expected: tuple[str, int, int, int, int, int]
) -> None:
    result, used = run(Story(node("n", cpu="4"), *members(*cpus)).state, minimum=minimum, bound=bound)
    found = (
        result.text,
        result.scheduled,
        result.remaining,
        len(result.placed),
        sum(len(misfit.pods) for misfit in result.misfits),
        len(result.untried),
    )
    assert found == expected
    assert result.succeeded is (result.text == "")
    assert used == [len(result.placed) if result.succeeded else 0]


def test_a_misfit_is_told_with_the_room_as_it_was_then() -> None:
    result, _ = run(Story(node("n", cpu="4"), *members(3, 2)).state, minimum=1)
    (misfit,) = result.misfits
    (cpu,) = misfit.diagnosis.resources
    assert (cpu.name, cpu.asked, cpu.free_on_best_node, cpu.free_in_cluster) == ("cpu", 2000, 1000, 1000)


@given(
    st.lists(st.integers(1, 4), max_size=4),
    st.lists(st.integers(1, 5), max_size=8),
    st.integers(1, 6),
    st.integers(0, 3),
)
def test_whole_or_nothing(nodes: list[int], cpus: list[int], minimum: int, bound: int) -> None:
    state = Story(
        *[node(f"n{number}", cpu=str(cpu)) for number, cpu in enumerate(nodes)], *members(*cpus)
    ).state
    result, used = run(state, minimum=minimum, bound=bound)
    tried = [each.key for each, _ in result.placed]
    failed = [each.key for misfit in result.misfits for each in misfit.pods]
    untried = [each.key for each in result.untried]
    assert Counter(tried + failed + untried) == Counter(state.pods.keys())
    assert (
        sorted(tried + failed) == list(state.pods)[: len(tried) + len(failed)]
    )  # in order, no one passed over
    assert result.scheduled == bound + len(tried)
    if result.succeeded:
        assert result.scheduled >= minimum
        assert sum(used) == len(tried)
        assert not untried
    else:
        assert result.scheduled + result.remaining < minimum
        assert sum(used) == 0


@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), st.integers(1, 3), st.integers(1, 10))
def test_pods_of_one_shape_fit_as_often_as_they_fit(nodes: list[int], cpu: int, count: int) -> None:
    """One shape needs no luck: the number that fits is the sum over the nodes."""
    fits = min(count, sum(size // cpu for size in nodes))
    for minimum in (fits, fits + 1):
        if minimum:
            state = Story(
                *[node(f"n{number}", cpu=str(size)) for number, size in enumerate(nodes)],
                group("g", minimum),
                *members(*[cpu] * count),
            ).state
            assert run(state, minimum=minimum)[0].succeeded is (minimum <= fits)
