"""Incident files of random logs: windows answer as the whole log does, redacted ones decide the same."""

import io
import itertools
import re
from collections.abc import Callable
from tempfile import TemporaryFile

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from books import Book, Lines, lines_of
from domain.admission.kinds import KINDS
from domain.events import GroupAttempted, PodBound
from domain.pseudonyms import Collector, Pseudonyms, with_codes
from domain.state import encode_state
from domain.upcast import CURRENT
from store.archive import event_row, export_log, header_line, import_log, read_archive
from store.chain import Head
from store.log import EventLog
from store.verify import verify
from strategies import books
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.redacting import redact_log
from worker.replaying import StoredLog, replay
from worker.windows import beginning_at, carried_positions, start_of_batch

NewLog = Callable[[], EventLog]
ORIGINALS = re.compile(
    rb"\b([ns][0-3]|g[0-2](-[0-4])?|lost|dedicated|example|default/|00000000-0000-4000-8000-\w+)(?![\w-])"
)
"""What random logs have in the way of names, namespaces, labels' keys and uids."""


def cluster_of(book: Book, log: EventLog) -> Cluster:
    """The same log in a store."""
    stored = Lines(lines_of(book)).stored
    last = stored[-1]
    file = [header_line("x", None, Head(last.position, last.hash, last.at))]
    file += [event_row(event.hash, event.line) for event in stored]
    import_log(log.store, log.stream, file)
    return opened(log, book.now)


def opened(log: EventLog, now: int) -> Cluster:
    return Cluster.open(log.store, log.stream, clock=VirtualClock(now))


def redacted(cluster: Cluster, after: int = 0) -> bytes:
    out = io.BytesIO()
    carried = carried_positions(cluster.log, cluster.state_at(after)) if after else ()
    redact_log(cluster.log, out, codes={}, spool=TemporaryFile, after=after, carried=carried)
    return out.getvalue()


def imported(log: EventLog, file: bytes) -> EventLog:
    import_log(log.store, log.stream, io.BytesIO(file))
    return log


@settings(max_examples=20)
@given(books(min_size=4, max_size=25), st.data())
def test_a_window_is_as_the_whole_log_from_there_on(new_log: NewLog, book: Book, data: st.DataObject) -> None:
    whole = cluster_of(book, new_log())
    head = whole.log.head()
    asked = data.draw(st.integers(1, head.position))
    out = io.BytesIO()
    export_log(whole.log, out, beginning=beginning_at(whole, asked))
    begin = start_of_batch(whole.log, asked)
    log = imported(new_log(), out.getvalue())
    window = opened(log, book.now)

    assert log.head() == head == verify(log, deep=True)
    assert log.begins_after() == begin
    assert encode_state(window.state) == encode_state(whole.state)
    for position in {begin, (begin + head.position) // 2, head.position}:
        for kind in KINDS:
            then = whole.shown_all(kind, state=whole.state_at(position))
            assert window.shown_all(kind, state=window.state_at(position)) == then
    result = replay(StoredLog(log))
    assert (result.same, result.events) == (True, head.position - begin)
    again = io.BytesIO()
    export_log(log, again)
    assert again.getvalue().partition(b"\n")[2] == out.getvalue().partition(b"\n")[2]


@settings(max_examples=20)
@given(books(min_size=4, max_size=25), st.data())
def test_a_redacted_log_decides_the_same_and_tells_no_name(
    new_log: NewLog, book: Book, data: st.DataObject
) -> None:
    whole = cluster_of(book, new_log())
    begin = start_of_batch(whole.log, data.draw(st.sampled_from([0, whole.state.position // 2])))
    file = redacted(whole, begin)
    log = imported(new_log(), file)
    verify(log, deep=True)
    result = replay(StoredLog(log))

    assert result.same
    assert result.attempts + result.unseen == len(list(whole.log.of_type("GroupAttempted", after=begin)))
    assert decisions(log, begin) == decisions(whole.log, begin)
    assert ORIGINALS.findall(file) == []
    beginning = read_archive(io.BytesIO(file)).beginning
    if beginning is not None:
        texts = repr(msgspec.msgpack.decode(beginning.state.state)).encode()
        assert ORIGINALS.findall(texts) == []


def decisions(log: EventLog, begin: int) -> list[object]:
    """What was decided, nodes and Pods told by their place in the order of their names."""
    found: list[object] = []
    bound: list[PodBound] = []
    for stored in log.read(begin):
        match CURRENT.event(stored.type, stored.line).payload:
            case GroupAttempted() as attempt:
                counts = [(each.placed, each.scheduled, each.remaining) for each in attempt.groups]
                found.append((attempt.at, attempt.outcome, attempt.number, counts, len(attempt.victims)))
            case PodBound() as binding:
                bound.append(binding)
    for field in ("node", "pod"):
        names = [getattr(binding, field) for binding in bound]
        ranks = {name: rank for rank, name in enumerate(sorted(set(names)))}
        found.append([ranks[name] for name in names])
    return found


NAMES = st.lists(st.text("ab1-./", max_size=6), max_size=12)


@given(NAMES, NAMES)
def test_pseudonyms_sort_as_what_they_stand_for_and_stay(first: list[str], more: list[str]) -> None:
    collector = Collector()
    codes: dict[str, str] = {}
    for texts in (first, more):
        for text in texts:
            collector.text(text)
        grown = with_codes(codes, collector.pieces)
        assert codes.items() <= grown.items()
        codes = grown
    names = Pseudonyms(codes)
    for left, right in itertools.product([*first, *more], repeat=2):
        assert (left < right) == (names.text(left) < names.text(right))
