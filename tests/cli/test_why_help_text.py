"""What `why` prints of what would help, held against golden files."""

from collections.abc import Callable, Iterator

import pytest

from build import group, node, pod
from cli.text.why import render_why
from domain.admission.kinds import kind_named
from domain.whathelps.budget import Budget
from live import Live
from store.engine import Store, open_store
from worker.explaining import why

Golden = Callable[[str, str], None]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = open_store(str(tmp_path_factory.mktemp("text") / "ganger.db"), create=True, durable=False)
    yield store
    store.close()


def crowded(live: Live) -> None:
    """A gang beside a notebook, with a cordoned node near by."""
    live.apply(
        node("n1", gpu=8),
        node("n2", gpu=8, unschedulable=True),
        group("notebook", 1),
        pod("notebook-0", gpu=5, group="notebook"),
    ).settle()
    live.apply(
        group("trainer", 2), *(pod(f"trainer-{number}", gpu=4, group="trainer") for number in range(2))
    )
    live.settle()


def incomplete(live: Live) -> None:
    """A gang of which a member is missing and another one gated."""
    live.apply(node("n1"), group("trainer", 3), pod("trainer-0", group="trainer"))
    live.apply(pod("trainer-1", group="trainer", gates=["example.com/quota"])).settle()


def mismatched(live: Live) -> None:
    """A gang whose small member takes the node that the large one needs."""
    live.apply(node("big", cpu="4"), node("small", cpu="1"), group("trainer", 2))
    live.apply(*(pod(f"trainer-{cpu}", cpu=cpu, group="trainer") for cpu in (1000, 4000))).settle()


@pytest.mark.parametrize("make", [crowded, incomplete, mismatched], ids=lambda make: make.__name__)
def test_what_would_help(store: Store, golden: Golden, make: Callable[[Live], None]) -> None:
    live = Live(store, make.__name__)
    make(live)
    told = why(live.cluster, kind_named("podgroup"), "default/trainer", budget=Budget())
    golden(f"why-help-{make.__name__}", f"{render_why(told).plain}\n")


def test_a_search_that_was_cut_off_says_so(store: Store, golden: Golden) -> None:
    live = Live(store, "cut off")
    crowded(live)
    told = why(live.cluster, kind_named("podgroup"), "default/trainer", budget=Budget(8))
    golden("why-help-cut-off", f"{render_why(told).plain}\n")
