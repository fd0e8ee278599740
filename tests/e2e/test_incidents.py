"""examples/incidents: the logs are those that make.py makes, and the README's commands name each cause."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from examples.incidents.make import INCIDENTS, make

INCIDENTS_FOLDER = Path(__file__).parents[2] / "examples" / "incidents"
GANGER = Path(sys.executable).with_name("ganger")
OMITTED = "…"


class Step(NamedTuple):
    """A command of the README, and the lines that it shows of its output."""

    words: list[str]
    shown: list[str]


def _steps() -> list[Step]:
    """The commands in order, each with the indented lines that follow it before the next text."""
    text = (INCIDENTS_FOLDER / "README.md").read_text(encoding="utf-8")
    steps: list[Step] = []
    for line in text.splitlines():
        if line.startswith("    ganger "):
            steps.append(Step(shlex.split(line)[1:], []))
        elif line.startswith("      ") and steps:
            steps[-1].shown.append(line.removeprefix("    "))
    return steps


STEPS = _steps()
QUESTIONS = [pytest.param(step, id=step.words[1]) for step in STEPS if "why" in step.words]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """Exit code and output of each command of the README, run one after the other."""
    folder = tmp_path_factory.mktemp("incidents")
    shutil.copytree(INCIDENTS_FOLDER, folder / "incidents")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GANGER_")}
    found = {}
    for step in STEPS:
        done = subprocess.run(
            [GANGER, *step.words], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.stderr == ""
        found[shlex.join(step.words)] = (done.returncode, done.stdout)
    return found


@pytest.mark.parametrize("name", INCIDENTS)
def test_the_log_is_what_is_made(name: str, made: Path) -> None:
    log = f"{name}.jsonl"
    assert (made / log).read_bytes() == (INCIDENTS_FOLDER / log).read_bytes(), (
        "if what ganger writes was meant to change, run: python -m examples.incidents.make"
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all logs, made anew."""
    folder = tmp_path_factory.mktemp("made")
    make(folder)
    return folder


def test_every_log_is_imported_asked_about_and_replayed() -> None:
    for pattern in (
        r"--cluster (\S+) log import incidents/\1.jsonl",
        r"--cluster (\S+) why",
        r"replay \S+/(\S+).jsonl",
    ):
        found = [match[1] for step in STEPS if (match := re.match(pattern, " ".join(step.words)))]
        assert found == list(INCIDENTS)


@pytest.mark.parametrize("step", QUESTIONS)
def test_one_question_shows_the_cause(step: Step, told: dict[str, tuple[int, str]]) -> None:
    code, output = told[shlex.join(step.words)]
    assert code == 1
    assert step.shown
    lines = output.splitlines()
    assert [line for line in step.shown if line not in lines and line.strip() != OMITTED] == []


@pytest.mark.parametrize(
    ("name", "causes"),
    [
        pytest.param("too-few-gpus", ["nvidia.com/gpu", "a100-1, a100-2, a100-3"], id="resource and nodes"),
        pytest.param("full-rack", ["nvidia.com/gpu", "rack-1", "r1-n2"], id="resource, rack and nodes"),
        pytest.param("part-too-big", ["ray-learner", "16 nvidia.com/gpu"], id="leaf and resource"),
        pytest.param("forgotten-gate", ["finetune-1", "quota.example.com/approved"], id="member and gate"),
        pytest.param("slow-to-end", ["batch/backfill-1", "2026-03-02T11:12:00Z"], id="victim and its time"),
    ],
)
def test_the_answer_names_the_cause(name: str, causes: list[str], told: dict[str, tuple[int, str]]) -> None:
    (answer,) = (output for line, (_, output) in told.items() if line.startswith(f"--cluster {name} why"))
    assert [cause for cause in causes if cause not in answer] == []


@pytest.mark.parametrize("name", INCIDENTS)
def test_the_log_replays_to_the_same_decisions(name: str, told: dict[str, tuple[int, str]]) -> None:
    code, output = told[f"replay incidents/{name}.jsonl"]
    assert (code, output.splitlines()[-1][:5]) == (0, "same:")
