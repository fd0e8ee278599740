"""Pods of incomplete trees, whose condition comes with time alone: whoever reads them sees it."""

from typing import Any

import pytest

from api_world import CORE, Api
from build import pod
from domain.times import SECOND

PODS = f"{CORE}/namespaces/default/pods"


@pytest.fixture
def spoken(api: Api) -> Api:
    """Two Pods whose group is missing, six minutes later."""
    api.post(PODS, pod("a", group="g"), pod("b", group="g"))
    api.clock.advance_to(api.clock.now() + 360 * SECOND)
    return api


def said(shown: dict[str, Any]) -> list[str]:
    return [each["reason"] for each in shown["status"].get("conditions", ())]


@pytest.mark.parametrize(
    ("query", "reasons"),
    [
        pytest.param("", ["Unschedulable"], id="now"),
        pytest.param("?at=2", [], id="when it came"),
        pytest.param("?at=2026-01-01T00:04:59Z", [], id="within five minutes"),
        pytest.param("?at=2026-01-01T00:05:00Z", ["Unschedulable"], id="after five minutes"),
    ],
)
def test_one_and_all(spoken: Api, query: str, reasons: list[str]) -> None:
    assert said(spoken.get(f"{PODS}/a{query}")) == reasons
    assert [said(item) for item in spoken.get(f"{PODS}{query}")["items"]] == [reasons, reasons]


def test_the_next_page_is_of_the_same_moment(api: Api) -> None:
    api.post(PODS, pod("a", group="g"), pod("b", group="g"))
    api.clock.advance_to(api.clock.now() + 299 * SECOND)
    first = api.get(f"{PODS}?limit=1")
    api.clock.advance_to(api.clock.now() + 60 * SECOND)
    second = api.get(f"{PODS}?limit=1&continue={first['metadata']['continue']}")
    assert [said(item) for item in (*first["items"], *second["items"])] == [[], []]
    assert said(api.get(f"{PODS}/b")) == ["Unschedulable"]
