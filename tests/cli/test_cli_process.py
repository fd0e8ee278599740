"""The command as a process: exit codes, streams, pipes, signals, terminals."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from build import Manifest, node, pod
from cli_world import SETTINGS, Book, Ganger

PYTHON = [sys.executable, "-c", "from cli.main import main; main()"]
ROOT = Path(__file__).resolve().parents[2]
LONG = 60


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    return kept | {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLUMNS": "200"} | more


def call(*words: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PYTHON, *words],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=LONG,
        env=environment(**more),
        check=False,
    )


def on_a_terminal(*words: str, **more: str) -> str:
    """What a terminal gets on standard output and error."""
    primary, secondary = pty.openpty()
    process = subprocess.Popen([*PYTHON, *words], stdout=secondary, stderr=secondary, env=environment(**more))
    os.close(secondary)
    shown = b""
    try:
        while chunk := os.read(primary, 65536):
            shown += chunk
    except OSError:  # Linux: the other end is closed
        pass
    os.close(primary)
    process.wait(LONG)
    return shown.decode()


def written(*manifests: Manifest) -> str:
    return yaml.safe_dump_all(manifests)


@pytest.mark.parametrize(
    ("words", "code", "out", "err"),
    [
        pytest.param(["version"], 0, "ganger 0.1.0\n", "", id="yes"),
        pytest.param(["--version"], 0, "ganger 0.1.0\n", "", id="yes, as an option"),
        pytest.param(["why", "pod", "held"], 1, "Pod default/held is Gated", "", id="no"),
        pytest.param(["get", "pod", "x"], 2, "", 'error: pods "x" not found\n', id="failure"),
        pytest.param(
            ["gett"],
            2,
            "",
            "error: no such command 'gett'. Did you mean 'get'? (see `ganger --help`)\n",
            id="use",
        ),
        pytest.param([], 2, "", "Usage: ganger", id="nothing asked"),
    ],
)
def test_exit_codes_and_streams(book: Book, words: list[str], code: int, out: str, err: str) -> None:
    done = call(*words)

    assert done.returncode == code
    assert done.stdout.startswith(out)
    assert bool(done.stdout) is bool(out)
    assert done.stderr.startswith(err)
    assert bool(done.stderr) is bool(err)


def test_a_locale_without_the_letters_is_no_failure(book: Book) -> None:
    book.apply(node("n9") | {"metadata": {"name": "n9", "annotations": {"note": "größe 🙂"}}})
    shown = call("get", "node", "n9", "-o", "json", PYTHONIOENCODING="ascii")

    assert (shown.returncode, shown.stderr) == (0, "")
    assert json.loads(shown.stdout)["metadata"]["annotations"]["note"] == "größe 🙂"


def test_the_settings_can_come_from_the_environment(book: Book, folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    where = str(folder / "elsewhere" / "my.db")
    done = call("apply", "-f", "-", stdin=written(node("n9")), GANGER_STORE=where, GANGER_CLUSTER="east")

    assert (done.returncode, done.stdout) == (0, "node/n9 created\n")
    assert call("--store", where, "--cluster", "east", "get", "no", "-o", "name").stdout == "node/n9\n"


def test_the_same_by_url(folder: Path) -> None:
    url = f"sqlite:///{folder / 'by-url.db'}"

    assert call("--store", url, "apply", "-f", "-", stdin=written(node("n1"))).returncode == 0
    assert call("--store", "by-url.db", "get", "no", "-o", "name").stdout == "node/n1\n"


@pytest.mark.parametrize(
    ("closing", "words", "code"),
    [
        pytest.param(">&-", "get pods", 0, id="output, of a table"),
        pytest.param(">&-", "log export", 0, id="output, of bytes"),
        pytest.param("<&-", "apply -f -", 2, id="input"),
        pytest.param("2>&-", "get pod x", 2, id="errors"),
    ],
)
def test_a_closed_stream_is_no_failure(book: Book, closing: str, words: str, code: int) -> None:
    """As a service manager may start a command."""
    script = f'exec "$@" {words} {closing}'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *PYTHON],
        capture_output=True,
        text=True,
        timeout=LONG,
        env=environment(),
        check=False,
    )

    assert done.returncode == code
    assert "a bug in ganger" not in done.stderr


@pytest.mark.parametrize("words", [["log", "export"], ["history", "pg", "big"], ["get", "pods"]])
def test_a_reader_that_goes_away_is_no_failure(book: Book, words: list[str]) -> None:
    pipe = subprocess.Popen(
        [*PYTHON, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    assert pipe.stdout is not None
    assert pipe.stderr is not None
    pipe.stdout.close()

    assert pipe.stderr.read() == b""
    assert pipe.wait(LONG) == 141
    pipe.stderr.close()


@pytest.mark.parametrize(
    ("number", "code"),
    [pytest.param(signal.SIGINT, 130, id="Ctrl-C"), pytest.param(signal.SIGTERM, 0, id="SIGTERM")],
)
def test_run_ends_when_told(folder: Path, number: signal.Signals, code: int) -> None:
    book = Book(folder).apply(node("n1"), pod("a"))
    process = subprocess.Popen(
        [*PYTHON, "run"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    process.send_signal(number)
    rest, err = process.communicate(timeout=LONG)
    book.store.close()

    assert first.endswith("Pod/default/a scheduled: 1 bound\n")
    assert (process.returncode, rest, err) == (code, "", "")
    assert call("run", "--until-settled").returncode == 0  # the lease was given back


def test_colour_is_for_terminals(book: Book, ganger: Ganger) -> None:
    plain = ganger.out("get", "pg", "--at", book.position)
    words = ("get", "pg", "--at", book.position)

    assert "\x1b[" not in plain
    assert "\x1b[31mUnschedulable" in on_a_terminal(*words)
    assert on_a_terminal(*words, NO_COLOR="1").replace("\r\n", "\n") == plain
    assert on_a_terminal(*words, TERM="dumb").replace("\r\n", "\n") == plain
    assert "\x1b[" not in on_a_terminal("why", "pg/big", NO_COLOR="1")


def test_a_bug_is_one_line_and_not_a_no(folder: Path) -> None:
    broken = (
        "import cli.commands.version as v; v.command.callback = lambda: {}['x'];"
        "from cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", broken, "version"],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: a bug in ganger: KeyError: 'x' (GANGER_TRACEBACK=1 shows where)\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(folder: Path, shell: str) -> None:
    assert "_GANGER_COMPLETE" in call("completion", shell).stdout


@pytest.mark.parametrize(
    ("words", "last", "found"),
    [
        pytest.param("ganger ", "1", ["apply", "get"], id="commands"),
        pytest.param("ganger ver", "1", ["version"], id="a command"),
        pytest.param("ganger get podg", "2", ["podgroup"], id="a kind"),
        pytest.param("ganger log ", "2", ["head", "verify", "export", "import"], id="below a command"),
        pytest.param("ganger get -o ", "3", ["json", "yaml"], id="a choice"),
    ],
)
def test_what_is_completed(folder: Path, words: str, last: str, found: list[str]) -> None:
    done = call(COMP_WORDS=words, COMP_CWORD=last, _GANGER_COMPLETE="bash_complete")

    offered = [line.partition(",")[2] for line in done.stdout.splitlines()]
    assert [each for each in offered if each in found] == found or set(found) <= set(offered)


SERVING = {"fastapi", "uvicorn", "httpx", "hypothesis"}


@pytest.mark.parametrize(
    ("words", "spared"),
    [
        pytest.param(
            ["version"],
            SERVING | {"sqlalchemy", "numpy", "pydantic", "rich", "yaml", "msgspec"},
            id="version",
        ),
        pytest.param(
            ["get", "pods"], SERVING | {"pydantic", "domain.explain", "domain.scheduling.cycle"}, id="get"
        ),
        pytest.param(
            ["queue"], SERVING | {"pydantic", "domain.explain", "domain.scheduling.cycle"}, id="queue"
        ),
        pytest.param(
            ["history", "pod", "held"], SERVING | {"pydantic", "domain.scheduling.cycle"}, id="history"
        ),
        pytest.param(["why", "pod", "held", "--deadline", "0"], SERVING | {"pydantic"}, id="why"),
        pytest.param(
            ["log", "head"], SERVING | {"pydantic", "rich", "domain.scheduling.cycle"}, id="log head"
        ),
    ],
)
def test_little_is_loaded_for_little(book: Book, words: list[str], spared: set[str]) -> None:
    loaded = f"import sys; from cli.main import run; run({words}); print(); print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", loaded], capture_output=True, text=True, env=environment(), check=True
    )

    assert not spared & set(done.stdout.splitlines()[-1].split())


def test_serve_and_its_clients(folder: Path) -> None:
    server = subprocess.Popen(
        [*PYTHON, "serve", "--port", "0"], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=environment(),
    )  # fmt: skip
    assert server.stderr is not None
    url = next(line.split()[-1] for line in server.stderr if "serving cluster" in line)
    manifests = written(node("n1"), pod("a"))

    assert (
        call("apply", "--server", url, "-f", "-", stdin=manifests).stdout
        == "node/n1 created\npod/a created\n"
    )
    deadline = time.monotonic() + LONG
    while call("why", "--server", url, "pod/a").returncode and time.monotonic() < deadline:
        pass
    assert call("get", "--server", url, "pod", "a").stdout.split()[-3:-1] == ["<none>", "n1"]
    server.send_signal(signal.SIGTERM)
    server.communicate(timeout=LONG)
    assert server.returncode == 0
    assert call("get", "pod", "a", "-o", "name").stdout == "pod/a\n"
    gone = call("get", "--server", url, "pods")
    assert (gone.returncode, gone.stderr) == (
        2,
        f"error: the server {url} cannot be reached: Connection refused\n",
    )
