"""The incidents: their logs are what make.py makes, and one command names each cause, as the README says."""

import re
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from cli_world import Ganger, Golden
from examples.incidents.make import INCIDENTS, make
from golden import GoldenBlock

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "incidents"
OMITTED = "…"


class Step(NamedTuple):
    """A command of the README, and the lines that it shows of what that prints."""

    words: list[str]
    shown: list[str]


def _steps() -> list[Step]:
    """The commands in order; what is shown of an output is indented by more than the commands are."""
    steps: list[Step] = []
    for line in (FOLDER / "README.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("    ganger "):
            steps.append(Step(shlex.split(line)[1:], []))
        elif line.startswith("     ") and line.strip() != OMITTED:
            steps[-1].shown.append(line.removeprefix("    "))
    return steps


def _words(text: str) -> str:
    """A text whatever its lines and columns."""
    return " ".join(text.split())


STEPS = _steps()
CAUSES = {
    "too-few-gpus": ["nvidia.com/gpu", "a100-1, a100-2, a100-3"],
    "full-rack": ["nvidia.com/gpu", "rack-1", "r1-n2"],
    "part-too-big": ["ray-learner", "16 nvidia.com/gpu"],
    "forgotten-gate": ["finetune-1", "quota.example.com/approved"],
    "slow-to-end": ["batch/backfill-1", "2026-03-02T11:12:00Z"],
}
"""By incident, what the answer has to name: resource and nodes, rack, leaf, gate, victim."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all logs, made anew."""
    folder = tmp_path_factory.mktemp("made")
    make(folder)
    return folder


@pytest.fixture
def copied(folder: Path) -> Path:
    """The current folder, with the incidents in it as the text has them."""
    shutil.copytree(FOLDER, folder / "incidents")
    return folder


@pytest.mark.parametrize("name", INCIDENTS)
def test_the_log_is_what_is_made(name: str, made: Path) -> None:
    log = f"{name}.jsonl"
    assert (made / log).read_bytes() == (FOLDER / log).read_bytes(), (
        "if what ganger writes was meant to change, run: python -m examples.incidents.make"
    )


def test_every_log_is_imported_asked_about_and_replayed() -> None:
    for pattern in (
        r"--cluster (\S+) log import incidents/\1.jsonl",
        r"--cluster (\S+) why",
        r"replay incidents/(\S+).jsonl",
    ):
        assert [match[1] for step in STEPS if (match := re.match(pattern, " ".join(step.words)))] == list(
            INCIDENTS
        )
    assert list(CAUSES) == list(INCIDENTS)


@pytest.mark.usefixtures("copied")
@pytest.mark.parametrize("name", INCIDENTS)
def test_the_commands_show_the_cause(name: str, ganger: Ganger) -> None:
    """Each command of the text that is about this incident, one after the other."""
    answers = []
    for step in STEPS:
        if name not in step.words and f"incidents/{name}.jsonl" not in step.words:
            continue
        code, output, notes = ganger(*step.words)
        assert (code, notes) == (1 if "why" in step.words else 0, "")
        assert [line for line in step.shown if _words(line) not in _words(output)] == []
        if "why" in step.words:
            assert step.shown
            answers.append(output)
    (answer,) = answers
    assert [cause for cause in CAUSES[name] if cause not in _words(answer)] == []


@pytest.mark.usefixtures("copied")
@pytest.mark.parametrize("name", INCIDENTS)
def test_the_log_replays_to_the_same_decisions(name: str, ganger: Ganger) -> None:
    counted, same = ganger.out("replay", f"incidents/{name}.jsonl").splitlines()
    assert same.startswith("same: ")
    assert "0 attempts" not in counted


@pytest.mark.usefixtures("copied")
def test_a_replay_as_it_is_printed(ganger: Ganger, golden: Golden) -> None:
    golden("replay", ganger.out("replay", "incidents/too-few-gpus.jsonl"))


@pytest.mark.usefixtures("copied")
def test_the_first_screen_of_the_readme_is_a_real_answer(ganger: Ganger, golden_block: GoldenBlock) -> None:
    ganger("log", "import", "incidents/too-few-gpus.jsonl")
    question = "why podgroup/llama-pretrain -n research"
    answer = ganger(*question.split(), "--deadline", "600").out  # nothing is cut off on a slow machine
    golden_block(ROOT / "README.md", f"$ ganger {question}", answer)
