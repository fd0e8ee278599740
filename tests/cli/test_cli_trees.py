"""Trees of groups as the commands show them."""

import pytest

from build import composite, group, pod
from cli_world import Book, Ganger, Golden


def under(parent: str) -> dict[str, str]:
    return {
        "parentCompositePodGroupName": parent,
        "workloadRef": {"workloadName": "job", "templateName": "t"},
    }


@pytest.fixture
def trees(book: Book) -> Book:
    """A tree that lacks a Pod, a PodGroup whose parent is missing, and one below a ring."""
    book.apply(
        composite("serve", 2),
        composite("prefill", 1, **under("serve")),
        group("head", 1, **under("serve")),
        group("workers", 2, **under("prefill")),
        pod("head-0", group="head"),
        pod("workers-0", group="workers"),
        group("lost", 1, **under("nowhere")),
        pod("lost-0", group="lost"),
        composite("hen", **under("egg")),
        composite("egg", **under("hen")),
        group("chick", 1, **under("hen")),
        pod("chick-0", group="chick"),
    )
    return book


@pytest.mark.parametrize(
    "line",
    [
        "get compositepodgroups",
        "get podgroups -o wide",
        "describe compositepodgroup serve",
        "queue",
        "why compositepodgroup serve",
        "why podgroup workers",
        "why pod lost-0",
        "why pod chick-0",
    ],
)
def test_trees_that_wait(trees: Book, ganger: Ganger, golden: Golden, line: str) -> None:
    patience = ["--deadline", "50"] if line.startswith("why") else []
    told = ganger(*line.split(), "--at", trees.position, *patience)
    assert told.err == ""
    golden("trees-" + line.replace(" ", "-"), told.out)
