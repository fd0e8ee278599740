from hypothesis import given

from domain.difference import difference
from domain.events import Event
from domain.reducer import fold
from domain.state import State
from strategies import logs

TURNED = {"created": "deleted", "deleted": "created"}


@given(logs())
def test_a_state_does_not_differ_from_itself(events: list[Event]) -> None:
    state = fold(State(), events)

    assert difference(state, state.copy(), then=state.at, now=state.at).same


@given(logs(min_size=2))
def test_it_reads_backwards_what_it_reads_forwards(events: list[Event]) -> None:
    early, late = fold(State(), events[: len(events) // 2]), fold(State(), events)
    there = difference(early, late, then=early.at, now=late.at)
    back = difference(late, early, then=late.at, now=early.at)

    assert [(each.object, TURNED.get(each.change, each.change)) for each in there.objects] == [
        (each.object, each.change) for each in back.objects
    ]
    assert [(each.entity, each.before, each.after) for each in there.lanes] == [
        (each.entity, each.after, each.before) for each in back.lanes
    ]
