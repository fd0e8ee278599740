"""What changes from event to event is what the State says that has changed, and nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from books import Book
from build import START, composite, group, node, pod
from domain.admission.kinds import KINDS, POD
from domain.state import State
from domain.times import SECOND
from ganger_testing.strategies import books
from store.engine import Store
from worker.changes import Changes, fold_and_compare
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.shown import all_visible

PARENT = {
    "parentCompositePodGroupName": "c",
    "workloadRef": {"workloadName": "w", "templateName": "t"},
}


def _revisions(state: State) -> dict[tuple[str, str], int]:
    """The version of every object that can be read."""
    return {
        (kind.name, key): record.revision
        for kind in KINDS
        for key, record in all_visible(state, kind.name).items()
    }


@given(books())
def test_nothing_changes_unseen(book: Book) -> None:
    state = State()
    for event in book.events:
        before = _revisions(state)
        steps = fold_and_compare(state, event)
        after = _revisions(state)
        changed = {each for each in {*before, *after} if before.get(each) != after.get(each)}
        assert {(step.kind, step.key) for step in steps} == changed
        assert len(steps) == len(changed)
        for step in steps:
            was, is_ = (None if side is None else side.record.revision for side in (step.before, step.after))
            assert (was, is_) == (before.get((step.kind, step.key)), after.get((step.kind, step.key)))
            assert is_ in (None, event.position)


@given(books(), st.data())
def test_what_was_before_is_what_was_after_the_change_before(book: Book, data: st.DataObject) -> None:
    state = State()
    seen: dict[tuple[str, str], object] = {}
    for event in book.events:
        for step in fold_and_compare(state, event):
            known = seen.get((step.kind, step.key))
            if known is not None and not _by_time(step.kind):
                assert step.before == known
            seen[step.kind, step.key] = step.after


def _by_time(kind: str) -> bool:
    """Whether objects of a kind change without an event: Pods of an incomplete tree, and what is counted."""
    return kind in ("Pod", "PodDisruptionBudget")


def test_pods_that_have_spoken_keep_saying_so() -> None:
    book = Book(node("n"))
    book.apply([group("g", 1, **PARENT), pod("p", cpu=1, group="g")])
    book.now = START + 600 * SECOND
    book.apply([composite("c", 5)])
    state = State()
    steps = [fold_and_compare(state, event) for event in book.events][-1]
    assert [(step.kind, step.key) for step in steps] == [
        ("CompositePodGroup", "default/c"),
        ("Pod", "default/p"),
    ]


def test_objects_as_a_user_reads_them(store: Store) -> None:
    clock = VirtualClock(START)
    cluster = Cluster.open(store, "default", clock=clock)
    cluster.apply([node("n"), pod("p", cpu=1)])
    changes = Changes(cluster, 0)
    first = changes.read(1)
    assert (changes.position, [(each.kind, each.before) for each in first]) == (1, [("Node", None)])
    cluster.delete([(POD, "default/p")])
    seen = changes.read(500)
    assert (changes.position, [(each.before is None, each.after is None) for each in seen]) == (
        3,
        [(True, False), (False, True)],
    )
    assert seen[0].after == seen[1].before
    assert seen[0].after == cluster.shown(POD, "default/p", cluster.state_at(2))
    assert changes.read(500) == []
