"""The `ganger-log` file: a log as JSON lines, which anybody can check and any ganger can import.

A header line, then one line an event, `{"hash":"…","event":…}`, in which the event is its canonical
line byte for byte. `docs/log-format.md` is the published description.
"""

import contextlib
import io
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, Literal, cast

import msgspec
import zstandard

from domain.envelope import GENESIS, canonical
from domain.errors import CorruptLog
from store.append import Unwritten
from store.chain import EMPTY_HEAD, ChainChecker, Head, StoredEvent
from store.engine import Store
from store.errors import BadArchive, StoreError, StreamNotEmpty
from store.log import EventLog
from store.verify import Progress

FORMAT: Final = "ganger-log"
VERSION: Final = 1
CHUNK: Final = 2000
"""Events an import writes at a time, and between two reports of progress."""

_PREFIX: Final = b'{"hash":"'
_MIDDLE: Final = b'","event":'
_EVENT_AT: Final = len(_PREFIX) + 64 + len(_MIDDLE)


class ArchiveHeader(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The first line. Hashes are hexadecimal; `chain_hash` is the one before the first event.

    A file without events has `last_position = first_position - 1` and `head_hash = chain_hash`.
    """

    chain_hash: str
    first_position: int
    format: str = FORMAT
    head_hash: str
    last_position: int
    stream: str
    version: int = VERSION


def open_archive(path: Path, mode: Literal["r", "w"]) -> BinaryIO:
    """The bytes of the archive at `path`, through zstd when the name ends in `.zst`."""
    file = path.open("rb" if mode == "r" else "wb")
    if path.suffix != ".zst":
        return file
    if mode == "r":
        reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True, closefd=True)
        return io.BufferedReader(cast(io.RawIOBase, reader))
    writer = zstandard.ZstdCompressor(write_checksum=True).stream_writer(file, closefd=True)
    return io.BufferedWriter(cast(io.RawIOBase, writer))


def export_log(
    log: EventLog,
    out: BinaryIO,
    *,
    after: int = 0,
    until: int | None = None,
    progress: Progress | None = None,
) -> Head:
    """Write the events after `after` up to `until` or the head, and return the last one's head.

    Raises StoreError if `after` is beyond the head, and CorruptLog where the chain is broken.
    """
    first = _head_at(log, after)
    last = log.head() if until is None else _head_at(log, min(until, log.head().position))
    if last.position < first.position:
        raise StoreError(f"cannot export from position {after + 1} to {last.position}")
    header = ArchiveHeader(
        chain_hash=first.hash.hex(),
        first_position=after + 1,
        head_hash=last.hash.hex(),
        last_position=last.position,
        stream=log.stream,
    )
    out.write(canonical(header) + b"\n")
    checker = ChainChecker(first)
    for event in log.read(after, last.position):
        checker.check(event)
        out.write(b"%b%b%b%b}\n" % (_PREFIX, event.hash.hex().encode(), _MIDDLE, event.line))
        if progress is not None and event.position % CHUNK == 0:
            progress(event.position)
    return last


def import_log(store: Store, stream: str, source: BinaryIO, *, progress: Progress | None = None) -> Head:
    """Read an archive into `stream`, which must be empty, in one transaction; return its head.

    The events keep their bytes and hashes, so the head hash is that of the exported log.
    Raises StreamNotEmpty; or BadArchive, with the line and position, and then nothing is imported.
    """
    header, contents = _open(source)
    if header.first_position != 1:
        raise BadArchive(
            f"the log begins at position {header.first_position}, only a whole one can be imported", line=1
        )
    with store.writing() as connection:
        row = store.backend.lock_stream(connection, stream)
        if row.position:
            raise StreamNotEmpty(stream, row.position)
        known: dict[str, int] = {}
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


def read_archive(source: BinaryIO) -> tuple[ArchiveHeader, Iterator[StoredEvent]]:
    """The header and the events of an archive, checked one by one as they are read. Raises BadArchive."""
    header, contents = _open(source)
    return header, (event for event, _ in contents)


def _head_at(log: EventLog, position: int) -> Head:
    if position == 0:
        return EMPTY_HEAD
    event = log.get(position)
    if event is None:
        raise StoreError(
            f"stream {log.stream!r} has no position {position}, its head is {log.head().position}"
        )
    return Head(position, event.hash, event.at)


_Content = tuple[StoredEvent, tuple[str, ...]]
"""An event and its subjects."""


def _open(source: BinaryIO) -> tuple[ArchiveHeader, Iterator[_Content]]:
    lines = _numbered_lines(source)
    _, first = next(lines, (1, b""))
    header = _parse_header(first)
    return header, _contents(header, lines)


def _numbered_lines(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    number = 0
    try:
        for number, line in enumerate(source, 1):
            yield number, line
    except zstandard.ZstdError as error:
        raise BadArchive(f"cannot be decompressed: {error}", line=number + 1) from error


def _parse_header(line: bytes) -> ArchiveHeader:
    try:
        claim = msgspec.json.decode(line, type=_Claim)
    except msgspec.DecodeError as error:
        raise BadArchive(f"this is not a {FORMAT} file: {error}", line=1) from error
    if claim.format != FORMAT:
        raise BadArchive(f"this is not a {FORMAT} file but {claim.format!r}", line=1)
    if claim.version != VERSION:
        raise BadArchive(
            f"this is version {claim.version} of the {FORMAT} format, which this ganger does not know:"
            f" it reads version {VERSION}",
            line=1,
        )
    try:
        header = msgspec.json.decode(line, type=ArchiveHeader)
        if canonical(header) + b"\n" != line:
            raise ValueError("it is not canonical")
        _parse_hash(header.chain_hash)
    except ValueError as error:  # msgspec's errors are ValueErrors too
        raise BadArchive(f"the header is not whole: {error}", line=1) from error
    return header


def _contents(header: ArchiveHeader, lines: Iterator[tuple[int, bytes]]) -> Iterator[_Content]:
    checker = ChainChecker(Head(header.first_position - 1, bytes.fromhex(header.chain_hash), 0))
    number = 1
    for number, raw in lines:
        position = checker.head.position + 1
        if position > header.last_position:
            raise BadArchive(f"more follows after position {header.last_position}, the last", line=number)
        line, digest = _split(raw, number, position)
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


def _split(raw: bytes, number: int, position: int) -> tuple[bytes, bytes]:
    """The canonical line and the hash of a line of the file."""
    digest = raw[len(_PREFIX) : _EVENT_AT - len(_MIDDLE)]
    if raw[:_EVENT_AT] == _PREFIX + digest + _MIDDLE and raw.endswith(b"}\n"):
        with contextlib.suppress(ValueError):
            return raw[_EVENT_AT:-2], _parse_hash(digest.decode())
    raise BadArchive(
        f'position {position} is cut off or not of the form {{"hash":…,"event":…}}',
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
