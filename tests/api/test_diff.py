import pytest

from api_world import BOOK, NODES, PODS, Api
from build import node, pod


@pytest.fixture
def moved(api: Api) -> Api:
    """A Pod that waits, and gets a node after position 1."""
    api.post(PODS, pod("a"))
    api.post(NODES, node("n1"))
    api.settle()
    return api


def test_what_changed_until_now(moved: Api) -> None:
    found = moved.get(f"{BOOK}/diff?from=1")

    assert [(each["object"], each["change"]) for each in found["objects"]] == [
        ("Node/n1", "created"),
        ("Pod/default/a", "changed"),
    ]
    assert found["lanes"] == [
        {
            "entity": "Pod/default/a",
            "before": "active",
            "after": None,
            "attemptsBefore": 0,
            "attemptsAfter": 0,
        }
    ]


def test_between_two_moments(moved: Api) -> None:
    found = moved.get(f"{BOOK}/diff?from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:00Z")

    assert (found["objects"], found["lanes"], found["configuration"]) == ([], [], [])


@pytest.mark.parametrize(
    ("query", "code", "told"),
    [
        pytest.param("", 400, "from", id="no moment"),
        pytest.param("from=x", 400, 'from: Invalid value: "x": must be a position', id="no such moment"),
        pytest.param("from=1&to=x", 400, 'to: Invalid value: "x"', id="no such end"),
        pytest.param("from=99", 410, "position 99 is in the future", id="the future"),
    ],
)
def test_refusals(moved: Api, query: str, code: int, told: str) -> None:
    found, _, message = moved.refused("GET", f"{BOOK}/diff?{query}")

    assert found == code
    assert told in message
