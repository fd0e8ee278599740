"""Incident files on the command line: windows, pseudonyms, what others recorded."""

import json
import re
from pathlib import Path

import pytest
import zstandard

from build import group, node, pod
from cli_world import Book, Ganger

RECORD = (
    '{"time":"2026-01-01T00:00:00.5Z","event":"Add","resource":{"apiVersion":"v1","kind":"Node",'
    '"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"4","pods":"10"}}}}\n'
    '{"time":"2026-01-01T00:00:01Z","event":"Add","resource":{"apiVersion":"v1","kind":"Pod",'
    '"metadata":{"name":"p","namespace":"default"},"spec":{"containers":[{"name":"c","image":"i"}]}}}\n'
    '{"time":"2026-01-01T00:00:09Z","event":"Add","resource":{"kind":"PersistentVolume","metadata":{"name":"v"}}}\n'
)


@pytest.fixture
def two_gangs(folder: Path) -> Book:
    """Of two gangs the one came, ran and is still there when the other comes."""
    book = Book(folder).apply(
        node("rack-1", cpu="2"), group("early", 1), pod("early-0", cpu="1", group="early")
    )
    book.wait(60)
    book.apply(group("late", 2), *[pod(f"late-{n}", cpu="1", group="late") for n in range(2)])
    return book.wait(60)


def test_a_window_answers_for_its_time(two_gangs: Book, ganger: Ganger) -> None:
    ganger("log", "export", "w.jsonl.zst", "--since", "4")
    head = ganger.out("log", "head")
    window = ("--cluster", "w")
    assert ganger.out(*window, "log", "import", "w.jsonl.zst") == head
    assert ganger.out(*window, "log", "verify") == f"{head.strip()} verified\n"
    assert ganger.out(*window, "replay") == ganger.out("replay", "w.jsonl.zst")
    for question in (
        ["get", "pods,podgroups,nodes", "-o", "yaml"],
        ["why", "pod", "early-0"],
        ["why", "podgroup", "late", "--at", "9"],
        ["history", "podgroup", "late"],
    ):
        assert ganger(*window, *question) == ganger(*question)
    assert ganger(*window, "why", "pod", "never").err.endswith("begins after position 3, does not hold it\n")
    assert ganger.error(*window, "get", "pods", "--at", "2") == (
        "error: position 2 is not in the log, which begins after position 3"
    )
    assert "which is later than 2020-01-01T00:00:00Z" in ganger.error(
        *window, "get", "pods", "--at", "2020-01-01T00:00:00Z"
    )


def test_a_redacted_log_tells_no_name_and_a_key_keeps_pseudonyms(
    two_gangs: Book, ganger: Ganger, folder: Path
) -> None:
    ganger("log", "export", "all.jsonl", "--redact-key", "names.json")
    ganger("log", "export", "part.jsonl", "--redact-key", "names.json", "--since", "4")
    texts = [(folder / name).read_text() for name in ("all.jsonl", "part.jsonl")]
    for text in texts:
        assert json.loads(text.partition("\n")[0])["redacted"] is True
        for name in ("rack", "early", "late", "default/"):
            assert name not in text
    assert texts[0].splitlines()[-1] == texts[1].splitlines()[-1]
    assert json.loads((folder / "names.json").read_text())["codes"]["early"] in texts[1]
    counts = ganger.out("replay").splitlines()[0]
    assert ganger.out("replay", "all.jsonl").splitlines()[0] == counts


def test_a_record_of_the_simulator_is_imported_and_decided(folder: Path, ganger: Ganger) -> None:
    (folder / "record.jsonl").write_text(RECORD)
    result = ganger("log", "import", "record.jsonl")
    assert (result.code, result.err) == (
        0,
        "left out: 1 of kind PersistentVolume, which ganger does not know\n",
    )
    assert ganger("why", "pod", "p").code == 0
    listed = ganger.out("get", "nodes,pods", "-o", "yaml")
    (folder / "live.yaml").write_text(listed)
    assert ganger("--cluster", "live", "log", "import", "live.yaml").code == 0
    assert ganger("--cluster", "live", "why", "pod", "p").code == 0
    assert ganger.out("--cluster", "live", "replay").endswith(
        ganger.out("--cluster", "live", "log", "head")[2:]
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(
            RECORD.replace("Add", "Fly"), "line 1: Invalid enum value 'Fly' - at `$.event`", id="event"
        ),
        pytest.param(
            RECORD.replace('"name":"p",', ""), "line 2: metadata.name: Required value", id="no name"
        ),
        pytest.param(RECORD.replace('n"}', 'N_"}'), 'line 1: Node "N_" is invalid: metadata.name', id="name"),
        pytest.param('{"type":"ADDED","object":{}}', "line 1: kind: Required value", id="no kind"),
        pytest.param("kind: Service\nmetadata: {name: s}", "no object that ganger takes", id="nothing"),
        pytest.param("", "line 1: this is not a ganger-log file", id="empty"),
    ],
)
def test_what_cannot_be_imported_says_where(folder: Path, ganger: Ganger, content: str, message: str) -> None:
    (folder / "bad").write_text(content)
    assert message in ganger.error("log", "import", "bad")
    assert ganger("log", "head").code == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["export", "."], ". is a folder: name a file", id="a folder"),
        pytest.param(["export", "/"], "/ is a folder: name a file", id="the root"),
        pytest.param(
            ["export", "none/x"], "none/x: No such file or directory", id="a folder that is not there"
        ),
        pytest.param(
            ["export", "--redact-key", "none/k", "x"],
            "none/k: No such file or directory",
            id="a key's folder",
        ),
        pytest.param(
            ["export", "--since", "5", "--until", "2"],
            "--until 2 is position 3, which is before --since 5",
            id="ends",
        ),
        pytest.param(
            ["export", "--redact", "--since", "5", "--until", "2", "x"],
            "which is before --since 5",
            id="redacted",
        ),
        pytest.param(["import", "bad.zst"], "bad.zst, line 1: cannot be decompressed", id="broken zstd"),
        pytest.param(["import", "-"], "standard input, line 1: this is not a ganger-log file", id="no input"),
    ],
)
def test_log_says_what_is_wrong_with_which_file(
    two_gangs: Book, folder: Path, ganger: Ganger, words: list[str], message: str
) -> None:
    (folder / "bad.zst").write_bytes(zstandard.FRAME_HEADER + b"\xff" * 20)
    assert message in ganger.error("log", *words)
    assert [path.name for path in folder.iterdir() if path.name == "x" or path.name.startswith(".")] == []


def test_a_window_and_a_fork_say_how_they_can_be_redacted(two_gangs: Book, ganger: Ganger) -> None:
    window = ganger.out("log", "export", "--since", "3")
    ganger("--cluster", "window", "log", "import", "-", stdin=window)
    told = ganger.error("--cluster", "window", "log", "export", "--redact")
    (command,) = re.findall("`ganger (.*)`", told)
    redacted = ganger.out(*command.split())
    first = [json.loads(text.splitlines()[0])["firstPosition"] for text in (window, redacted)]
    assert first[0] == first[1] > 1

    assert ganger("whatif", "--at", "3", "--save", "fork").code == 0
    assert "after position 3 of cluster 'default'" in ganger.error(
        "--cluster", "fork", "log", "export", "--redact"
    )


def test_replay_as_json(two_gangs: Book, ganger: Ganger) -> None:
    told = json.loads(ganger.out("replay", "-o", "json"))
    assert (told["same"], told["events"], told["divergence"]) == (True, int(two_gangs.position), None)
