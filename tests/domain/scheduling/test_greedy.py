import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from domain.scheduling.greedy import Numbers, greedy_order

SEQUENCES = st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=40), min_size=1, max_size=12)


def loop(sequences: list[list[int]], count: int) -> list[tuple[int, int]]:
    """Take the best head, of equals that of the first node, again and again."""
    taken = [0] * len(sequences)
    order: list[tuple[int, int]] = []
    while len(order) < count:
        heads = [
            (-sequence[step], node)
            for node, (sequence, step) in enumerate(zip(sequences, taken, strict=True))
            if step < len(sequence)
        ]
        if not heads:
            break
        node = min(heads)[1]
        order.append((node, taken[node]))
        taken[node] += 1
    return order


@given(SEQUENCES, st.integers(1, 120))
def test_the_order_is_that_of_the_loop(sequences: list[list[int]], count: int) -> None:
    asked: list[tuple[int, int]] = []

    def score(nodes: Numbers, steps: Numbers) -> Numbers:
        asked.extend(zip(nodes.tolist(), steps.tolist(), strict=True))
        return np.array([sequences[node][step] for node, step in zip(nodes, steps, strict=True)])

    nodes, steps = greedy_order(
        heads=np.array([sequence[0] for sequence in sequences]),
        capacity=lambda nodes: np.array([len(sequences[node]) for node in nodes]),
        score=score,
        count=count,
    )

    assert list(zip(nodes.tolist(), steps.tolist(), strict=True)) == loop(sequences, count)
    assert len(asked) == len(set(asked)), "no score is asked for twice"


def test_a_few_pods_look_at_a_few_steps_only() -> None:
    looked_at = 0

    def score(nodes: Numbers, steps: Numbers) -> Numbers:
        nonlocal looked_at
        looked_at += len(steps)
        return 1000 - steps

    nodes, _ = greedy_order(
        heads=np.full(1000, 1000),
        capacity=lambda nodes: np.full(len(nodes), 100_000),
        score=score,
        count=1000,
    )

    assert nodes.tolist() == list(range(1000))
    assert looked_at <= 4 * 1000
