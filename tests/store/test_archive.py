"""Export and import: the same bytes, the same head hash; and whatever was done to a file is found."""

import gzip
import hashlib
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from domain.envelope import GENESIS, Draft
from drafts import any_drafts, draft, drafts
from store.archive import export_log, import_log, open_archive, read_archive
from store.errors import BadArchive, StoreError, StreamNotEmpty
from store.log import EventLog
from store.verify import verify

ROOT = Path(__file__).resolve().parents[2]
NewLog = Callable[[], EventLog]


def exported(log: EventLog, **options: int) -> bytes:
    """The archive of `log`."""
    out = io.BytesIO()
    export_log(log, out, **options)
    return out.getvalue()


def imported(new_log: NewLog, archive: bytes) -> EventLog:
    """A new log with the contents of the archive."""
    log = new_log()
    import_log(log.store, log.stream, io.BytesIO(archive))
    return log


@pytest.fixture
def archive(log: EventLog) -> bytes:
    """Five events in two batches."""
    log.append(drafts(3), at=1)
    log.append([draft("ü"), draft("b")], at=2)
    return exported(log)


def test_the_form_of_a_file(archive: bytes, log: EventLog) -> None:
    header, *lines = archive.splitlines(keepends=True)
    assert json.loads(header) == {
        "chainHash": "0" * 64,
        "firstPosition": 1,
        "format": "ganger-log",
        "headHash": log.head().hash.hex(),
        "lastPosition": 5,
        "stream": log.stream,
        "version": 1,
    }
    assert lines == [
        b'{"hash":"' + event.hash.hex().encode() + b'","event":' + event.line + b"}\n" for event in log.read()
    ]


@given(st.lists(any_drafts(max_size=5), max_size=5))
def test_there_and_back_is_the_same_log(new_log: NewLog, batches: list[list[Draft]]) -> None:
    log = new_log()
    for number, batch in enumerate(batches):
        log.append(batch, at=number)
    back = imported(new_log, exported(log))
    assert list(back.read()) == list(log.read())
    assert back.head() == log.head() == verify(back, deep=True)
    assert exported(back).splitlines()[1:] == exported(log).splitlines()[1:]
    assert back.append([draft()], at=99).first == log.head().position + 1
    verify(back, deep=True)


def test_a_large_log(log: EventLog, new_log: NewLog) -> None:
    for number in range(5):
        log.append([*drafts(1000, f"{number}-"), draft("shared")], at=number)
    told: list[int] = []
    back = new_log()
    head = import_log(back.store, back.stream, io.BytesIO(exported(log)), progress=told.append)
    assert head == log.head()
    assert told == [2000, 4000, 5005]
    assert [e.position for e in back.history("Pod/default/shared")] == [1001, 2002, 3003, 4004, 5005]
    verify(back, deep=True)


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.zst"])
def test_files(archive: bytes, log: EventLog, new_log: NewLog, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with open_archive(path, "w") as out:
        assert export_log(log, out) == log.head()
    assert path.read_bytes().startswith(zstandard.FRAME_HEADER if name.endswith("zst") else b'{"chainHash"')
    with open_archive(path, "r") as source:
        archived = read_archive(source)
        assert archived.header.stream == log.stream
        assert list(archived.events) == list(log.read())
    back = new_log()
    with open_archive(path, "r") as source:
        assert import_log(back.store, back.stream, source) == log.head()


def test_part_of_a_log(archive: bytes, log: EventLog, new_log: NewLog) -> None:
    assert list(imported(new_log, exported(log, until=4)).read()) == list(log.read(0, 4))
    with pytest.raises(StoreError, match="no position 6"):
        exported(log, until=6)


def test_an_empty_log(log: EventLog, new_log: NewLog) -> None:
    archive = exported(log)
    assert len(archive.splitlines()) == 1
    assert imported(new_log, archive).head().position == 0


def test_a_stream_that_has_events_is_left_alone(archive: bytes, log: EventLog, new_log: NewLog) -> None:
    other = new_log()
    other.append([draft("mine")], at=1)
    with pytest.raises(StreamNotEmpty):
        import_log(other.store, other.stream, io.BytesIO(archive))
    assert other.head().position == 1


def edit(line: int, old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    """Replace something in a line of the file, which counts from 1."""

    def change(archive: bytes) -> bytes:
        lines = archive.splitlines(keepends=True)
        assert old in lines[line - 1]
        lines[line - 1] = lines[line - 1].replace(old, new, 1)
        return b"".join(lines)

    return change


def keep(count: int, cut: int = 0) -> Callable[[bytes], bytes]:
    """The first `count` lines, without the last `cut` bytes."""
    return lambda archive: b"".join(archive.splitlines(keepends=True)[:count])[: -cut or None]


def swap_lines(archive: bytes) -> bytes:
    """Exchange two events."""
    lines = archive.splitlines(keepends=True)
    return b"".join([*lines[:3], lines[4], lines[3], *lines[5:]])


@pytest.mark.parametrize(
    ("change", "line", "position", "message"),
    [
        pytest.param(lambda a: b"", 1, None, "not a ganger-log file", id="empty"),
        pytest.param(lambda a: b"kind: Pod\n", 1, None, "not a ganger-log file", id="not JSON"),
        pytest.param(lambda a: b"{}\n", 1, None, "not a ganger-log file", id="other JSON"),
        pytest.param(edit(1, b"ganger-log", b"lager-log"), 1, None, "but 'lager-log'", id="other format"),
        pytest.param(edit(1, b'"version":1', b'"version":3'), 1, None, "version 3 of the", id="newer"),
        pytest.param(edit(1, b'"stream"', b'"dream"'), 1, None, "header is not whole", id="header field"),
        pytest.param(edit(1, b'"chainHash":"00', b'"chainHash":"0'), 1, None, "not whole", id="chain hash"),
        pytest.param(edit(1, b'Hash":"00', b'Hash":"11'), 2, 1, "does not follow", id="chain start"),
        pytest.param(edit(1, b'"headHash":"', b'"headHash":"x'), 1, 5, "another hash", id="head hash"),
        pytest.param(edit(4, b"default", b"defaulf"), 4, 3, "does not follow", id="event changed"),
        pytest.param(edit(4, b'"hash":"', b'"hash":"x'), 4, 3, "not of the form", id="hash changed"),
        pytest.param(edit(4, b'"event":', b'"event" :'), 4, 3, "not of the form", id="spaces"),
        pytest.param(edit(3, b"\n", b"\n\n"), 4, 3, "cut off", id="empty line"),
        pytest.param(swap_lines, 4, 3, "does not follow", id="swapped"),
        pytest.param(lambda a: a.replace(a.splitlines(True)[3], b""), 4, 3, "does not follow", id="dropped"),
        pytest.param(keep(4), 5, 4, "ends here, after position 3 of 5", id="cut between lines"),
        pytest.param(keep(4, 10), 4, 3, "cut off", id="cut in a line"),
        pytest.param(keep(6, 1), 6, 5, "cut off", id="last newline missing"),
        pytest.param(lambda a: a + a.splitlines(True)[5], 7, None, "more follows", id="more"),
    ],
)
def test_a_bad_file_is_refused_whole(
    archive: bytes,
    new_log: NewLog,
    change: Callable[[bytes], bytes],
    line: int,
    position: int | None,
    message: str,
) -> None:
    log = new_log()
    with pytest.raises(BadArchive, match=f"^line {line}: .*{message}") as caught:
        import_log(log.store, log.stream, io.BytesIO(change(archive)))
    assert (caught.value.line, caught.value.position) == (line, position)
    assert log.head().position == 0
    assert import_log(log.store, log.stream, io.BytesIO(archive)).position == 5


@given(st.data())
def test_a_flipped_bit_anywhere_is_found(new_log: NewLog, data: st.DataObject) -> None:
    log = new_log()
    log.append(drafts(3), at=1)
    archive = bytearray(exported(log))
    name = re.search(rb'"stream":"([^"]*)"', archive)
    assert name is not None
    # The stream's name is a label: a log has one head hash under whatever name it is kept.
    places = [place for place in range(len(archive)) if not name.start() <= place < name.end()]
    archive[data.draw(st.sampled_from(places))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(BadArchive):
        list(read_archive(io.BytesIO(archive)).events)


@pytest.mark.parametrize("damage", ["cut", "flip", "flip early"])
def test_a_damaged_compressed_file(archive: bytes, log: EventLog, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "x.zst"
    compressed = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(archive))
    if damage == "cut":
        compressed = compressed[:-20]
    else:
        compressed[len(compressed) // 2 if damage == "flip" else 12] ^= 1
    path.write_bytes(compressed)
    with open_archive(path, "r") as source, pytest.raises(BadArchive):
        list(read_archive(source).events)


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        pytest.param("x.zst", lambda archive: archive, id="plain, in spite of its name"),
        pytest.param("x.jsonl", zstandard.ZstdCompressor().compress, id="compressed, in spite of its name"),
    ],
)
def test_what_a_file_holds_says_how_it_is_read(
    archive: bytes, tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    (tmp_path / name).write_bytes(pack(archive))
    with open_archive(tmp_path / name, "r") as source:
        assert source.read() == archive


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        pytest.param(gzip.compress, "compressed with gzip", id="gzip"),
        pytest.param(lambda archive: b"", "there is nothing in it", id="empty"),
        pytest.param(lambda archive: archive.replace(b"\n", b"\r\n"), "CR LF", id="CR LF"),
        pytest.param(
            lambda archive: archive.replace(b"\n", b"\r\n").replace(b"\r\n", b"\n", 1),
            "line 2: .*CR LF",
            id="CR LF after the first line",
        ),
    ],
)
def test_a_file_that_was_converted_says_so(
    archive: bytes, spoil: Callable[[bytes], bytes], message: str
) -> None:
    with pytest.raises(BadArchive, match=message):
        list(read_archive(io.BytesIO(spoil(archive))).events)


def test_the_published_verifier_checks_a_real_export(archive: bytes, log: EventLog, tmp_path: Path) -> None:
    """The program in the description of the format, which knows nothing of ours."""
    page = (ROOT / "docs" / "log-format.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    verifier = tmp_path / "verify.py"
    verifier.write_text(program)

    def run(content: bytes) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "log.jsonl"
        path.write_bytes(content)
        return subprocess.run(
            [sys.executable, "-I", str(verifier), str(path)], capture_output=True, text=True, check=False
        )

    good = run(archive)
    assert (good.returncode, good.stdout) == (0, f"5 events, head {log.head().hash.hex()}\n")
    for change in (edit(4, b"default", b"defaulf"), swap_lines, keep(4)):
        assert run(change(archive)).returncode != 0


def test_the_page_says_what_the_hash_is_of(archive: bytes) -> None:
    _, first, *_ = archive.splitlines()
    line = first[len(b'{"hash":"') + 64 + len(b'","event":') : -1]
    assert json.loads(first)["hash"] == hashlib.sha256(GENESIS + line).hexdigest()
