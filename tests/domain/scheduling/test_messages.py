import pytest

from domain.scheduling.messages import fit_error

UNTOLERATED = "node(s) had untolerated taint(s)"
CORDONED = "node(s) were unschedulable"
NO_VICTIMS = "preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod."


@pytest.mark.parametrize(
    ("total", "counts", "prefilter", "postfilter", "text"),
    [
        pytest.param(
            12,
            {"Insufficient nvidia.com/gpu": 9, UNTOLERATED: 3},
            None,
            None,
            "0/12 nodes are available: 3 node(s) had untolerated taint(s), 9 Insufficient nvidia.com/gpu.",
            id="member of a group",
        ),
        pytest.param(
            12,
            {CORDONED: 2, "Insufficient cpu": 10},
            None,
            None,
            "0/12 nodes are available: 10 Insufficient cpu, 2 node(s) were unschedulable.",
            id="counts are sorted as text",
        ),
        pytest.param(
            9,
            {UNTOLERATED: 3, "Too many pods": 3, "Insufficient memory": 3},
            None,
            None,
            "0/9 nodes are available: 3 Insufficient memory, 3 Too many pods, 3 node(s) had untolerated "
            "taint(s).",
            id="capitals come first",
        ),
        pytest.param(
            2,
            {"Insufficient memory": 2, "Insufficient cpu": 2},
            None,
            None,
            "0/2 nodes are available: 2 Insufficient cpu, 2 Insufficient memory.",
            id="one node counts for each of its reasons",
        ),
        pytest.param(
            3,
            {"Insufficient cpu": 3},
            None,
            NO_VICTIMS,
            f"0/3 nodes are available: 3 Insufficient cpu. {NO_VICTIMS}",
            id="preemption has its say behind",
        ),
        pytest.param(
            4,
            {},
            "pod affinity terms conflict",
            "preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling.",
            "0/4 nodes are available: pod affinity terms conflict. "
            "preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling.",
            id="PreFilter refused",
        ),
        pytest.param(
            6,
            {
                "Too many pods": 1,
                "Insufficient memory": 1,
                "Insufficient cpu": 4,
                UNTOLERATED: 1,
                CORDONED: 1,
            },
            None,
            None,
            "0/6 nodes are available: 1 Insufficient memory, 1 Too many pods, 1 node(s) had untolerated "
            "taint(s), 1 node(s) were unschedulable, 4 Insufficient cpu.",
            id="six nodes, as a real cluster said it",
        ),
        pytest.param(
            1,
            {"node(s) didn't satisfy plugin(s) [NodeAffinity]": 1},
            None,
            None,
            "0/1 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity].",
            id="named node missing",
        ),
        pytest.param(0, {}, None, None, "no nodes available to schedule pods", id="no node at all"),
        pytest.param(
            0, {}, None, NO_VICTIMS, "no nodes available to schedule pods", id="no node, no preemption"
        ),
    ],
)
def test_fit_error(
    total: int, counts: dict[str, int], prefilter: str | None, postfilter: str | None, text: str
) -> None:
    assert fit_error(total, counts, prefilter, postfilter) == text
