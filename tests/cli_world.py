"""The command line run in this process, and a store to run it on."""

import io
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from build import START, Manifest, group, node, pod
from cli.main import run
from domain.times import SECOND
from store.engine import open_store
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.loop import Worker

SETTINGS = ("GANGER_STORE", "GANGER_CLUSTER", "GANGER_TRACEBACK", "NO_COLOR")


class Result(NamedTuple):
    """What a command line came to."""

    code: int
    out: str
    err: str


class Ganger:
    """Runs command lines; a bug in one is raised and not told."""

    def __init__(self, capture: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self._capture = capture
        self._patch = patch

    def __call__(self, *words: str, stdin: str = "") -> Result:
        """Run the command line of `words`, with `stdin` as standard input."""
        self._patch.setenv("GANGER_TRACEBACK", "1")
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        self._capture.readouterr()
        code = run(words)
        return Result(code, *self._capture.readouterr())

    def out(self, *words: str, stdin: str = "") -> str:
        """What a command prints that succeeds without a note."""
        result = self(*words, stdin=stdin)
        assert (result.code, result.err) == (0, "")
        return result.out

    def error(self, *words: str, stdin: str = "") -> str:
        """The one line that a command says which fails."""
        result = self(*words, stdin=stdin)
        assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
        return result.err.removesuffix("\n")


class Book:
    """The cluster `default` in `ganger.db` of a folder, written under virtual time."""

    def __init__(self, folder: Path) -> None:
        uids = count(1)
        self.store = open_store(str(folder / "ganger.db"), create=True, durable=False)
        self.clock = VirtualClock(START)
        self.cluster = Cluster.open(
            self.store, "default", clock=self.clock, new_uid=lambda: f"uid-{next(uids)}"
        )
        self._worker = Worker(self.cluster)

    def apply(self, *manifests: Manifest) -> "Book":
        """Append `manifests` as one batch."""
        self.cluster.apply(manifests)
        return self

    def wait(self, seconds: int) -> "Book":
        """Let time pass, doing what falls due."""
        self._worker.advance(self.clock, self.clock.now() + seconds * SECOND)
        return self

    @property
    def position(self) -> str:
        """The newest position, as `--at` takes it."""
        return str(self.cluster.state.position)


def write_book(folder: Path) -> Book:
    """A gang that runs, one that is too big, one that is not complete, and single Pods."""
    book = Book(folder)
    spare = {"key": "spare", "effect": "NoSchedule"}
    book.apply(
        node("n1", gpu=8, labels={"zone": "a"}),
        node("n2", gpu=8, unschedulable=True, taints=[spare]),
        group("trainer", 2),
        pod("trainer-0", cpu=1500, memory="4Gi", gpu=2, group="trainer"),
        pod("trainer-1", cpu=1500, memory="4Gi", gpu=2, group="trainer"),
    )
    book.wait(60)
    book.apply(
        group("big", 2),
        pod("big-0", gpu=4, group="big"),
        pod("big-1", gpu=4, group="big"),
        group("few", 3),
        pod("few-0", group="few"),
        pod("held", gates=["example.com/quota"]),
        pod("other", cpu="100m", namespace="team-a"),
    )
    return book.wait(30)


Golden = Callable[[str, str], None]
