"""queue, why, history, replay, log, db: what the book says."""

import json
import os
import sqlite3
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from build import composite, group, node, pod
from cli_world import Book, Ganger, Golden
from domain.events import PodBound
from trees import NO_VICTIMS, WRAP, leaf

SCENARIO = """
name: a gang of one starts
origin: made up
features: [gang]
steps:
  - apply:
      - {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, pods: 10}}}
      - {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}
  - expect: {%s: [a]}
"""


def test_queue(book: Book, ganger: Ganger, golden: Golden) -> None:
    golden("queue", ganger.out("queue", "--at", book.position))


def test_queue_as_json(book: Book, ganger: Ganger) -> None:
    line = json.loads(ganger.out("queue", "-o", "json", "--at", book.position))

    assert line["position"] == int(book.position)
    waiters = [(each["entity"], each["lane"], each["place"]) for each in line["waiters"]]
    assert waiters == [
        ("PodGroup/default/big", "backoff", 1),
        ("PodGroup/default/few", "gated", 1),
        ("Pod/default/held", "gated", 2),
    ]
    assert line["waiters"][0]["due"] == "2026-01-01T00:01:02.000000Z"


def test_a_time_after_the_last_event_is_another_queue(book: Book, ganger: Ganger) -> None:
    later = json.loads(ganger.out("queue", "-o", "json", "--at", "2026-01-01T00:05:00Z"))

    assert later["position"] == int(book.position)
    assert later["waiters"][0]["lane"] == "unschedulable"


def test_nothing_waits(folder: Path, ganger: Ganger) -> None:
    Book(folder).apply(node("n1")).store.close()

    assert ganger("queue") == (0, "", "Nothing waits.\n")


@pytest.mark.parametrize(
    ("words", "code", "verdict"),
    [
        pytest.param(["pg/trainer"], 0, "PodGroup default/trainer is Scheduled", id="placed"),
        pytest.param(["podgroup", "big"], 1, "PodGroup default/big is Unschedulable", id="not placed"),
        pytest.param(["pod", "held"], 1, "Pod default/held is Gated", id="gated"),
        pytest.param(["pod/other", "-n", "team-a"], 0, "Pod team-a/other is Scheduled", id="elsewhere"),
        pytest.param(
            ["pg/big", "--at", "16"], 1, "PodGroup default/big is Pending", id="before it was tried"
        ),
        pytest.param(["pg/big", "--level", "0"], 1, "PodGroup default/big is Unschedulable", id="in short"),
    ],
)
def test_why(book: Book, ganger: Ganger, words: list[str], code: int, verdict: str) -> None:
    result = ganger("why", *words)

    assert (result.code, result.err) == (code, "")
    assert result.out.startswith(verdict + "\n")


def test_why_as_json(book: Book, ganger: Ganger) -> None:
    brief = json.loads(ganger("why", "pg/big", "-o", "json", "--level", "0", "--at", book.position).out)
    whole = json.loads(ganger("why", "pg/big", "-o", "json", "--at", book.position).out)

    assert brief["object"] == {"kind": "PodGroup", "namespace": "default", "name": "big", "uid": "uid-6"}
    assert brief["at"] == {"position": int(book.position), "time": "2026-01-01T00:01:00.000000Z"}
    assert whole | brief == whole
    assert whole["quorum"]["minCount"] == 2


def test_how_long_to_look_for_what_would_help(book: Book, ganger: Ganger) -> None:
    words = ("why", "pg/big", "-o", "json", "--at", book.position, "--deadline")
    found = json.loads(ganger(*words, "60s").out)
    none = json.loads(ganger(*words, "0").out)

    kinds = [change["kind"] for change in found["wouldHelp"]]
    assert kinds == ["addNodes", "lowerMinimum", "delete", "lowerRequest", "raisePriority"]
    assert found["wouldHelp"][1] == {
        "change": "lower minCount to 1",
        "proved": True,
        "kind": "lowerMinimum",
        "subjects": ["PodGroup/default/big"],
        "from": "2",
        "to": "1",
        "evicts": [],
    }
    assert (found["wouldHelpCutOff"], none["wouldHelpCutOff"], none["wouldHelp"]) == (False, False, [])


@pytest.mark.parametrize(
    ("words", "error"),
    [
        pytest.param(
            ["why", "pg/big", "--deadline", "soon"],
            "error: invalid value for '--deadline': 'soon' is no number of seconds",
            id="a deadline that is no time",
        ),
        pytest.param(["why", "pod", "nope"], 'error: pods "nope" not found', id="why of nothing"),
        pytest.param(
            ["why", "pg/big", "--at", "3"], 'error: podgroups.scheduling.k8s.io "big" not found', id="not yet"
        ),
        pytest.param(
            ["why", "pg/big", "--level", "4"],
            "error: invalid value for '--level': there are levels 0, 1, 2, 3",
            id="a level that is not there",
        ),
        pytest.param(["why", "pg"], "error: an object is named by KIND NAME or KIND/NAME", id="no name"),
        pytest.param(["why", "pg", "big", "few"], "error: name one object", id="two names"),
        pytest.param(["why"], "error: missing argument 'KIND[/NAME] [NAME]'", id="nothing"),
        pytest.param(["history", "pod", "nope"], 'error: pods "nope" not found', id="history of nothing"),
        pytest.param(
            ["history", "pod", "held", "--since", "x"],
            "error: invalid value for --since: 'x' must",
            id="since",
        ),
        pytest.param(
            ["history", "pod", "held", "--limit", str(2**63)],
            f"error: invalid value for '--limit': {2**63}",
            id="a limit beyond 64 bits",
        ),
        pytest.param(
            ["history", "pod", "held", "--limit", "0"], "error: invalid value for '--limit': 0", id="limit"
        ),
        pytest.param(["replay", "nope.jsonl"], "error: nope.jsonl: No such file", id="no log"),
        pytest.param(["log", "import", "nope"], "error: nope: No such file", id="no file to import"),
        pytest.param(["--cluster", "x", "replay"], "error: there is no cluster 'x'", id="no cluster"),
        pytest.param(["test", "nope"], "error: nope: there is no such file or folder", id="no scenario"),
        pytest.param(["simulate", "nope"], "error: nope/nodes.csv: No such file", id="no trace"),
    ],
)
def test_what_the_book_cannot_say(book: Book, ganger: Ganger, words: list[str], error: str) -> None:
    assert ganger.error(*words).startswith(error)


@pytest.mark.parametrize(
    ("options", "positions"),
    [
        pytest.param([], [11, 12, 13, 18], id="all"),
        pytest.param(["--limit", "2"], [11, 12], id="the first two"),
        pytest.param(["--since", "13"], [13, 18], id="since a position"),
        pytest.param(["--since", "2026-01-01T00:02:00Z"], [], id="since a time"),
        pytest.param(["--until", "2026-01-01T00:00:59Z"], [], id="until a time"),
        pytest.param(["--until", "12"], [11, 12], id="until a position"),
        pytest.param(["--since", "-20000d", "--until", "13", "--limit", "1"], [11], id="together"),
    ],
)
def test_history(book: Book, ganger: Ganger, options: list[str], positions: list[int]) -> None:
    entries = json.loads(ganger.out("history", "pg", "big", "-o", "json", *options))

    assert [entry["position"] for entry in entries] == positions


def test_history_is_told_after_the_end(book: Book, ganger: Ganger) -> None:
    ganger.out("delete", "pod", "held")

    assert "PodDeleted" in ganger.out("history", "pod", "held")
    assert "ACTOR" in ganger.out("history", "pod", "held", "-o", "wide")
    assert 'pods "held" not found' in ganger.error("get", "pod", "held")
    assert ganger("why", "pod", "held").code == 1


def test_replay_comes_out_the_same(book: Book, ganger: Ganger) -> None:
    lines = ganger.out("replay").splitlines()

    assert lines[0] == f"{book.position} events folded, 3 attempts decided again"
    assert lines[1] == f"same: the head hash is {book.cluster.log.head().hash.hex()}"


def test_replay_shows_both_sides_of_a_difference(folder: Path, ganger: Ganger) -> None:
    book = Book(folder).apply(node("n1"), node("n2"), pod("a"))
    binding = PodBound(node="n2", pod="default/a", uid="uid-3")
    from domain.scheduling.cycle import decide

    decision = decide(book.cluster.state, book.clock.now())
    assert decision is not None
    book.cluster.append([decision.payloads[0], binding], actor="scheduler")

    result = ganger("replay")

    assert (result.code, result.err) == (1, "")
    assert "diverged at position 5, in the attempt at position 4 of Pod/default/a:" in result.out
    lines = result.out.splitlines()
    assert lines[-5:] == [
        "  FIELD   RECORDED   DECIDED AGAIN",
        '  node    "n2"       "n1"',
        "look at:",
        "  ganger why Pod a -n default --at 4",
        "  ganger get nodes,pods -A --at 3",
    ]


@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.zst", "-"])
def test_a_log_goes_out_and_comes_in(book: Book, ganger: Ganger, name: str) -> None:
    line = f"{book.position} {book.cluster.log.head().hash.hex()}\n"
    out = ganger("log", "export", name)

    assert (out.code, out.err) == (0, "" if name == "-" else f"{name}: {line}")
    assert ganger.out("--cluster", "copy", "log", "import", name, stdin=out.out) == line
    assert ganger.out("log", "head") == ganger.out("--cluster", "copy", "log", "head") == line
    assert ganger.out("--cluster", "copy", "log", "verify") == f"{line.strip()} verified\n"
    assert ganger.out("log", "export") == ganger.out("log", "export", "-")
    assert "name one that has none" in ganger.error("--cluster", "copy", "log", "import", name, stdin=out.out)
    assert ganger.out("replay", name, stdin=out.out) == ganger.out("replay")


def test_a_wrong_byte_is_found(book: Book, ganger: Ganger) -> None:
    with book.store.writing() as connection:
        line = book.cluster.log.get(4).line.replace(b"trainer-0", b"trainer-7")
        connection.exec_driver_sql("UPDATE events SET line = ? WHERE position = 4", (line,))

    broken = ganger("log", "verify")
    assert (broken.code, broken.err) == (1, "")
    assert broken.out.startswith("corrupt: position 4: ")
    assert ganger.error("run", "--until-settled").startswith("error: position 4: ")
    assert ganger.error("replay").startswith("error: position 4: ")


def test_the_schema(ganger: Ganger, folder: Path) -> None:
    assert ganger.error("db", "current").startswith("error: there is no store at ganger.db")
    assert ganger.out("db", "upgrade") == "none -> 0003\n"
    assert ganger.out("db", "upgrade") == "0003 (up to date already)\n"
    assert ganger.out("db", "current") == "0003 (up to date)\n"

    connection = sqlite3.connect(folder / "ganger.db")
    with connection:
        connection.execute("UPDATE ganger_schema SET version_num = '9999'")
    connection.close()
    newer = ganger("db", "current")
    assert (newer.code, newer.out) == (1, "9999 (this ganger wants 0003: upgrade the program)\n")


@pytest.mark.parametrize("path", ["notes.txt", "other.db"])
def test_what_is_not_a_store(ganger: Ganger, folder: Path, path: str) -> None:
    if path == "other.db":
        with sqlite3.connect(folder / path) as connection:
            connection.execute("CREATE TABLE mine (x)")
        connection.close()
    else:
        (folder / path).write_text("some text that is no database\n" * 200)

    for words in (["get", "pods"], ["apply", "-f", "-"], ["db", "current"], ["run", "--until-settled"]):
        assert path in ganger.error("--store", path, *words, stdin=yaml.safe_dump(node("n1")))


def test_run_counts_what_each_attempt_bound(folder: Path, ganger: Ganger) -> None:
    pods = [
        pod(f"{name}{number}", group=name)
        for name, count in (("one", 1), ("three", 3))
        for number in range(count)
    ]
    Book(folder).apply(node("n1"), group("one", 1), group("three", 3), *pods).store.close()

    told = [line.partition(" ")[2] for line in ganger("run", "--until-settled").out.splitlines()]

    assert told == [
        "PodGroup/default/one scheduled: 1 bound",
        "PodGroup/default/three scheduled: 3 bound",
    ]


def test_run_until_settled(folder: Path, ganger: Ganger) -> None:
    Book(folder).apply(
        node("n1", gpu=4),
        group("g", 2),
        pod("a", gpu=2, group="g", annotations={"ganger.dev/run-seconds": "3600"}),
        pod("b", gpu=2, group="g"),
        pod("c", gpu=3),
    ).store.close()

    result = ganger("run", "--until-settled", "--virtual-time")

    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0].endswith("PodGroup/default/g scheduled: 2 bound")
    assert "Pod/default/c unschedulable: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu." in lines[1]
    assert result.err.endswith("; 1 in the queue.\n")
    assert "Succeeded" in ganger.out("get", "pod", "a")
    assert ganger("run", "--until-settled").out == ""


def test_run_says_why_a_tree_was_refused(folder: Path, ganger: Ganger) -> None:
    Book(folder).apply(
        node("n1", cpu="1"), composite("job", 1), *leaf("g", 1, [2], parent="job")
    ).store.close()

    result = ganger("run", "--until-settled", "--virtual-time")

    needs = "minGroupCount (1) cannot be satisfied: 0 scheduled, 0 remaining"
    (line,) = result.out.splitlines()
    assert line.split(" ", 1)[1] == (
        f"CompositePodGroup/default/job unschedulable: {WRAP}{needs}{NO_VICTIMS}"
    )
    assert ganger("why", "cpg/job").code == 1
    assert ganger("why", "cpg/no-such").code == 2
    assert ganger.out("get", "cpg").splitlines()[1].split()[6] == "Unschedulable"
    Book(folder).apply(node("n2", cpu="4")).store.close()
    ganger("run", "--until-settled", "--virtual-time")
    assert ganger("why", "cpg/job", "-o", "json").code == 0


@pytest.mark.parametrize(("expected", "code"), [("scheduled", 0), ("gated", 1)])
def test_scenarios(folder: Path, ganger: Ganger, expected: str, code: int) -> None:
    (folder / "one.yaml").write_text(SCENARIO % expected)
    (folder / "two.yaml").write_text(SCENARIO % "scheduled")

    result = ganger("test", "one.yaml", "two.yaml", "-v", "--junit", "out.xml")

    lines = result.out.splitlines()
    assert (result.code, result.err) == (code, "")
    assert lines[-1] == f"{2 - code} passed, {code} failed"
    assert len(lines) == 3
    if code:
        assert lines[0] == (
            "FAILED one.yaml: a gang of one starts: step 2 (expect): expected a gated, it is scheduled on n1"
        )
    assert lines[1].startswith("PASSED two.yaml: a gang of one starts (")
    suite = ElementTree.parse(folder / "out.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", str(code))
    assert not (folder / "ganger.db").exists()


def test_which_scenarios_run(folder: Path, ganger: Ganger) -> None:
    (folder / "one.yaml").write_text(SCENARIO % "scheduled")
    (folder / "two.yaml").write_text(SCENARIO % "scheduled")

    assert ganger.out("test", ".", "-k", "two and gang") == "1 passed, 0 failed\n"
    assert ganger.error("test", ".", "-k", "quorum") == "error: -k selects none of 2 scenarios"
    assert "invalid value for '-k'" in ganger.error("test", ".", "-k", "one and")
    (folder / "none").mkdir()
    assert ganger.error("test", "none") == "error: there is no scenario there"


def test_a_trace_is_simulated_into_the_store(folder: Path, ganger: Ganger, golden: Golden) -> None:
    (folder / "trace").mkdir()
    (folder / "trace" / "nodes.csv").write_text(
        "name,cpu_milli,memory_mib,gpu,gpu_model,origin\nn1,96000,1024000,8,A100,trace\n"
    )
    (folder / "trace" / "jobs.csv").write_text(
        "job,submit_s,duration_s,pods,min_count,cpu_milli,memory_mib,gpu,gpu_milli,gpu_model,queue,class,state\n"
        "first,0,600,2,2,1000,1024,4,1000,,,,done\n"
        "second,60,100,2,2,1000,1024,2,1000,,,,done\n"
        "third,90,,1,1,1000,1024,1,1000,,,,never\n"
    )
    result = ganger("simulate", "trace")

    assert result.code == 0
    golden("simulate", result.out)
    assert result.err.startswith("Try: ganger why PodGroup/second --at ")
    assert ganger("replay").code == 0
    assert "not empty" in ganger.error("simulate", "trace")


def test_a_damaged_log_is_not_exported_in_part(book: Book, ganger: Ganger) -> None:
    with sqlite3.connect("ganger.db") as connection:
        connection.execute("UPDATE events SET line = X'7B7D' WHERE position = 3")

    assert "position 3" in ganger.error("log", "export", "whole.log")
    assert not list(Path().glob("*whole.log"))


def test_what_is_no_file_is_written_to_and_stays(book: Book, ganger: Ganger) -> None:
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    ganger("log", "export", "pipe")
    received = os.read(reader, 1 << 20).decode()
    os.close(reader)

    assert Path("pipe").is_fifo()
    assert received == ganger.out("log", "export")


def test_a_link_stays_a_link(book: Book, ganger: Ganger, folder: Path) -> None:
    (folder / "archive").mkdir()
    Path("link.jsonl.zst").symlink_to("archive/today.zst")
    for _ in ("made", "replaced"):
        ganger("log", "export", "link.jsonl.zst")

        assert Path("link.jsonl.zst").is_symlink()
        assert [each.name for each in Path("archive").iterdir()] == ["today.zst"]
        assert ganger.out("replay", "link.jsonl.zst") == ganger.out("replay")
