"""What the simulated kubelet reports of a Pod that its finalizers keep."""

import pytest

from books import Book
from build import node, pod


@pytest.mark.parametrize(
    ("grace", "phase"),
    [
        pytest.param(30, "Failed", id="it was given time: it has ended"),
        pytest.param(0, "Running", id="forced: nothing is known of it, so it keeps its room"),
    ],
)
def test_what_becomes_of_a_pod_with_finalizers(grace: int, phase: str) -> None:
    held = pod("a", terminationGracePeriodSeconds=grace)
    held["metadata"]["finalizers"] = ["example.com/hold"]
    book = Book(node("n"), held).settle()
    book.delete("Pod", "default/a")
    book.settle()
    assert book.state.pods["default/a"].phase == phase
