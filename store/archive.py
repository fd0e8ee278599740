"""The `ganger-log` file: a log as JSON lines, which anybody can check and any ganger can import.

A header line, then one line an event, `{"hash":"…","event":…}`, in which the event is its canonical
line byte for byte. A window of a log has the lines of its beginning before that, `{"hash":"…","start":…}`.
`docs/log-format.md` is the published description.
"""

import contextlib
import io
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Literal, cast

import msgspec
import zstandard

from domain.envelope import GENESIS, canonical, chain, decode_line
from domain.errors import CorruptLog
from store.append import Unwritten
from store.beginnings import Beginning, read_state_line, write_beginning
from store.chain import EMPTY_HEAD, ChainChecker, Head, StoredEvent
from store.engine import Store
from store.errors import BadArchive, StoreError, StreamNotEmpty
from store.log import EventLog
from store.origins import Origin, write_origin
from store.verify import Progress

FORMAT: Final = "ganger-log"
VERSION: Final = 1
"""Of a whole log as it was written."""
WINDOW_VERSION: Final = 2
"""Of one that begins at a State, or that is redacted."""
CHUNK: Final = 2000
"""Events an import writes at a time, and between two reports of progress."""

_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_GZIP: Final = b"\x1f\x8b"
_OTHER_NEWLINES: Final = "its line ends in CR LF, as if something had converted the file: take the original"
_PREFIX: Final = b'{"hash":"'
_MIDDLE: Final = b'","event":'
_START: Final = b'","start":'
_EVENT_AT: Final = len(_PREFIX) + 64 + len(_MIDDLE)


class ArchiveHeader(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The first line. Hashes are hexadecimal; `chain_hash` is the one before the first event.

    A file without events has `last_position = first_position - 1` and `head_hash = chain_hash`. With
    `start_lines` it begins at a State; the last of these lines has `start_hash`. `redacted` events
    are not those that were once written, and have a chain of their own.
    """

    chain_hash: str
    first_position: int
    format: str
    head_hash: str
    last_position: int
    redacted: bool = False
    start_hash: str = ""
    start_lines: int = 0
    stream: str
    version: int


@dataclass(frozen=True)
class Archive:
    """A file that is being read: its `events` are checked one by one as they come.

    `beginning` is None for a log from its first event on.
    """

    header: ArchiveHeader
    beginning: Beginning | None
    events: Iterator[StoredEvent]


def open_archive(path: Path, mode: Literal["r", "w"]) -> BinaryIO:
    """The bytes of the archive at `path`, written through zstd when the name ends in `.zst`."""
    if mode == "r":
        return decompressed(path.open("rb"))
    file = path.open("wb")
    if path.suffix != ".zst":
        return file
    writer = zstandard.ZstdCompressor(write_checksum=True).stream_writer(file, closefd=True)
    return io.BufferedWriter(cast(io.RawIOBase, writer))


def decompressed(file: BinaryIO) -> BinaryIO:
    """The bytes of `file`, through zstd when they begin as zstd does. Reading them may raise BadArchive."""
    buffered = file if isinstance(file, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, file))
    if not buffered.peek(len(_ZSTD)).startswith(_ZSTD):
        return buffered
    return io.BufferedReader(_Decompressed(buffered))


class _Decompressed(io.RawIOBase):
    """What a file that is compressed with zstd holds."""

    def __init__(self, file: BinaryIO) -> None:
        self._reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True, closefd=True)
        self._lines = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        try:
            count = self._reader.readinto(buffer)
        except zstandard.ZstdError as error:
            raise BadArchive(f"cannot be decompressed: {error}", line=self._lines + 1) from error
        self._lines += bytes(buffer[:count]).count(b"\n")
        return count

    def close(self) -> None:
        self._reader.close()  # type: ignore[no-untyped-call]
        super().close()


def export_log(
    log: EventLog,
    out: BinaryIO,
    *,
    beginning: Beginning | None = None,
    until: int | None = None,
    progress: Progress | None = None,
) -> Head:
    """Write the log from `beginning` (None: its own) up to `until` or the head; return the last one's head.

    Raises StoreError if `until` is beyond the head or before the beginning, and CorruptLog where the
    chain is broken.
    """
    start = log.beginning() if beginning is None else beginning
    first = EMPTY_HEAD if start is None else start.head
    last = log.head() if until is None else _head_at(log, until, first)
    if last.position < first.position:
        raise StoreError(f"cannot export from position {first.position + 1} to {last.position}")
    out.write(header_line(log.stream, start, last))
    out.writelines(start_rows(start))
    checker = ChainChecker(first)
    for event in log.read(first.position, last.position):
        checker.check(event)
        out.write(event_row(event.hash, event.line))
        if progress is not None and event.position % CHUNK == 0:
            progress(event.position)
    return last


def header_line(stream: str, start: Beginning | None, last: Head, *, redacted: bool = False) -> bytes:
    """The first line of a file that begins at `start` and ends with `last`."""
    first = EMPTY_HEAD if start is None else start.head
    header = ArchiveHeader(
        chain_hash=first.hash.hex(),
        first_position=first.position + 1,
        format=FORMAT,
        head_hash=last.hash.hex(),
        last_position=last.position,
        redacted=redacted,
        start_hash="" if start is None else start.start_hash.hex(),
        start_lines=0 if start is None else 1 + len(start.carried),
        stream=stream,
        version=VERSION if start is None and not redacted else WINDOW_VERSION,
    )
    return canonical(header) + b"\n"


def start_rows(start: Beginning | None) -> Iterator[bytes]:
    """The lines of the file that tell of `start`."""
    if start is not None:
        for line, digest in start.chained():
            yield _row(digest, _START, line)


def event_row(digest: bytes, line: bytes) -> bytes:
    """The line of the file for an event."""
    return _row(digest, _MIDDLE, line)


def import_log(
    store: Store,
    stream: str,
    source: Iterable[bytes],
    *,
    origin: Origin | None = None,
    progress: Progress | None = None,
) -> Head:
    """Read an archive into `stream`, which must be empty, in one transaction; return its head.

    The events keep their positions, bytes and hashes, so the head hash is that of the exported log.
    `origin` says of which other stream it is a fork.
    Raises StreamNotEmpty; or BadArchive, with the line and position, and then nothing is imported.
    """
    _, beginning, contents = _open(source)
    with store.writing() as connection:
        row = store.backend.lock_stream(connection, stream)
        if row.position:
            raise StreamNotEmpty(stream, row.position)
        if origin is not None:
            write_origin(connection, row.id, origin)
        known: dict[str, int] = {}
        if beginning is not None:
            write_beginning(connection, row.id, beginning)
            unwritten = Unwritten(stream, row, known)
            for event, subjects in _carried(beginning):
                unwritten.add(event, subjects)
            unwritten.begin(beginning.head)
            store.backend.write(connection, unwritten.rows())
            row = unwritten.head
            known.update(unwritten.new_ids)
        while chunk := list(itertools.islice(contents, CHUNK)):
            unwritten = Unwritten(stream, row, known)
            for event, subjects in chunk:
                unwritten.add(event, subjects)
            store.backend.write(connection, unwritten.rows())
            row = unwritten.head
            known.update(unwritten.new_ids)
            if progress is not None:
                progress(row.position)
    store.announcements.announce(stream, row.position)
    return Head(row.position, row.hash, row.at_us)


def may_be_archive(first_line: bytes) -> bool:
    """Whether a file that begins so is meant to be a `ganger-log`, whole or not."""
    return not first_line or FORMAT.encode() in first_line or first_line.startswith(b'{"chainHash"')


def read_archive(source: Iterable[bytes]) -> Archive:
    """An archive, its beginning read and its events to come. Raises BadArchive, also while they are read."""
    header, beginning, contents = _open(source)
    return Archive(header, beginning, (event for event, _ in contents))


def _row(digest: bytes, middle: bytes, line: bytes) -> bytes:
    return b"%b%b%b%b}\n" % (_PREFIX, digest.hex().encode(), middle, line)


def _head_at(log: EventLog, position: int, first: Head) -> Head:
    if position == first.position:
        return first
    event = log.get(position)
    if event is None:
        raise StoreError(
            f"stream {log.stream!r} has no position {position}, its head is {log.head().position}"
        )
    return Head(position, event.hash, event.at)


_Content = tuple[StoredEvent, tuple[str, ...]]
"""An event and its subjects."""


def _open(source: Iterable[bytes]) -> tuple[ArchiveHeader, Beginning | None, Iterator[_Content]]:
    lines = enumerate(source, 1)
    _, first = next(lines, (1, b""))
    header = _parse_header(first)
    beginning = _parse_beginning(header, lines) if header.start_lines else None
    return header, beginning, _contents(header, beginning, lines)


def _parse_beginning(header: ArchiveHeader, lines: Iterator[tuple[int, bytes]]) -> Beginning:
    """The beginning that the file tells of in its first lines. Raises BadArchive."""
    found: list[bytes] = []
    digest, number = GENESIS, 1
    for number, raw in itertools.islice(lines, header.start_lines):
        line, claimed = _split(raw, _START, number, None)
        digest = chain(digest, line)
        if claimed != digest:
            raise BadArchive("the hash does not follow from the line and the hash before it", line=number)
        found.append(line)
    if len(found) < header.start_lines:
        raise BadArchive(
            f"the file ends here, in the {header.start_lines} lines of its beginning", line=number + 1
        )
    if digest.hex() != header.start_hash:
        raise BadArchive("the header has another hash than the last line of the beginning", line=1)
    try:
        state = read_state_line(found[0])
    except CorruptLog as error:
        raise BadArchive(str(error), line=2) from error
    if state.position != header.first_position - 1:
        raise BadArchive(
            f"the state is that of position {state.position}, the first event at {header.first_position}",
            line=2,
        )
    head = Head(state.position, bytes.fromhex(header.chain_hash), state.at)
    beginning = Beginning(head, found[0], found[1:])
    _check_carried(beginning)
    return beginning


def _check_carried(beginning: Beginning) -> None:
    """Raise BadArchive where a carried event is none, or not behind the one before it."""
    position = 0
    for number, line in enumerate(beginning.carried, 3):
        try:
            carried = decode_line(line).position
        except msgspec.DecodeError as error:
            raise BadArchive(f"the line is not an event: {error}", line=number) from error
        if not position < carried <= beginning.head.position:
            raise BadArchive(f"an event of position {carried} cannot stand here", line=number)
        position = carried


def _carried(beginning: Beginning) -> Iterator[_Content]:
    """The carried events as they are kept: their hashes are those of the beginning's own chain."""
    for line, digest in itertools.islice(beginning.chained(), 1, None):
        envelope = decode_line(line)
        yield StoredEvent(envelope.position, envelope.kind, envelope.at, line, digest), envelope.subjects


def _parse_header(line: bytes) -> ArchiveHeader:
    if not line:
        raise BadArchive(f"this is not a {FORMAT} file: there is nothing in it, or it is cut off", line=1)
    if line.startswith(_GZIP):
        raise BadArchive("this is compressed with gzip, not zstd: decompress it first", line=1)
    try:
        claim = msgspec.json.decode(line, type=_Claim)
    except msgspec.DecodeError as error:
        raise BadArchive(f"this is not a {FORMAT} file: {error}", line=1) from error
    if claim.format != FORMAT:
        raise BadArchive(f"this is not a {FORMAT} file but {claim.format!r}", line=1)
    if claim.version not in (VERSION, WINDOW_VERSION):
        raise BadArchive(
            f"this is version {claim.version} of the {FORMAT} format, which this ganger does not know:"
            f" it reads versions {VERSION} and {WINDOW_VERSION}",
            line=1,
        )
    try:
        header = msgspec.json.decode(line, type=ArchiveHeader)
        if canonical(header) + b"\n" != line:
            raise ValueError(_OTHER_NEWLINES if line.endswith(b"\r\n") else "it is not canonical")
        _parse_hash(header.chain_hash)
        _check_header(header)
    except ValueError as error:  # msgspec's errors are ValueErrors too
        raise BadArchive(f"the header is not whole: {error}", line=1) from error
    return header


def _check_header(header: ArchiveHeader) -> None:
    """Raise ValueError if the fields do not go together."""
    begins = header.start_lines > 0
    follows = header.first_position > 1 if begins else header.first_position == 1
    if not follows or begins != bool(header.start_hash):
        raise ValueError(
            f"it begins at position {header.first_position} with {header.start_lines} lines of start"
        )
    if header.version != (WINDOW_VERSION if begins or header.redacted else VERSION):
        raise ValueError(f"this is no version {header.version}")


def _contents(
    header: ArchiveHeader, beginning: Beginning | None, lines: Iterator[tuple[int, bytes]]
) -> Iterator[_Content]:
    start = Head(0, bytes.fromhex(header.chain_hash), 0) if beginning is None else beginning.head
    checker = ChainChecker(start)
    number = 1 + header.start_lines
    for number, raw in lines:
        position = checker.head.position + 1
        if position > header.last_position:
            raise BadArchive(f"more follows after position {header.last_position}, the last", line=number)
        line, digest = _split(raw, _MIDDLE, number, position)
        try:
            envelope = checker.check_line(line, digest)
        except CorruptLog as error:
            raise BadArchive(str(error), line=number, position=position) from error
        yield StoredEvent(position, envelope.kind, envelope.at, line, digest), envelope.subjects
    head = checker.head
    if head.position != header.last_position:
        raise BadArchive(
            f"the file ends here, after position {head.position} of {header.last_position}",
            line=number + 1,
            position=head.position + 1,
        )
    if head.hash.hex() != header.head_hash:
        raise BadArchive("the header has another hash than the last event", line=1, position=head.position)


def _split(raw: bytes, middle: bytes, number: int, position: int | None) -> tuple[bytes, bytes]:
    """The canonical line and the hash of a line of the file."""
    digest = raw[len(_PREFIX) : _EVENT_AT - len(middle)]
    if raw[:_EVENT_AT] == _PREFIX + digest + middle and raw.endswith(b"}\n"):
        with contextlib.suppress(ValueError):
            return raw[_EVENT_AT:-2], _parse_hash(digest.decode())
    if raw.endswith(b"}\r\n"):
        raise BadArchive(_OTHER_NEWLINES, line=number, position=position)
    what = "the line" if position is None else f"position {position}"
    raise BadArchive(
        f'{what} is cut off or not of the form {{"hash":…{middle[2:].decode()}…}}',
        line=number,
        position=position,
    )


def _parse_hash(text: str) -> bytes:
    """The 32 bytes of 64 lower-case hexadecimal digits. Raises ValueError."""
    digest = bytes.fromhex(text)
    if len(digest) != len(GENESIS) or digest.hex() != text:
        raise ValueError(f"not a hash: {text!r}")
    return digest


class _Claim(msgspec.Struct):
    """What a header says that it is."""

    format: str
    version: int
