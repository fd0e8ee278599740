"""The README's own words, run: every command of the quickstart does what the text says it does."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUICKSTART = ROOT / "examples" / "quickstart"
GANGER = Path(sys.executable).with_name("ganger")


def _commands() -> list[list[str]]:
    lines = (QUICKSTART / "README.md").read_text(encoding="utf-8").splitlines()
    return [shlex.split(line) for line in lines if line.startswith("    ganger ")]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, int, str]]:
    """Each command of the quickstart with its exit code and output, run one after the other."""
    folder = tmp_path_factory.mktemp("quickstart")
    shutil.copytree(QUICKSTART, folder / "quickstart")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GANGER_")}
    found = []
    for command in _commands():
        done = subprocess.run(
            [GANGER, *command[1:]], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert "Traceback" not in done.stderr
        found.append((" ".join(command[1:]), done.returncode, done.stdout + done.stderr))
    return found


def test_every_command_ends_as_the_text_says(told: list[tuple[str, int, str]]) -> None:
    assert [(command, code) for command, code, _ in told] == [
        ("apply -f quickstart/nodes.yaml -f quickstart/tune.yaml -f quickstart/train.yaml", 0),
        ("run --until-settled --virtual-time", 0),
        ("get podgroups", 0),
        ("why podgroup/train", 1),
        ("apply -f quickstart/one-more-node.yaml", 0),
        ("run --until-settled --virtual-time", 0),
        ("why podgroup/train", 0),
        ("history podgroup train", 0),
        ("why podgroup/train --at 15", 1),
        ("log verify", 0),
        ("replay", 0),
    ]


@pytest.mark.parametrize(
    ("index", "texts"),
    [
        pytest.param(2, ["train", "Unschedulable", "tune", "Scheduled"], id="one runs, one does not"),
        pytest.param(
            3,
            [
                "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining",
                "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.",
                "ask for 6 nvidia.com/gpu, the whole cluster has 4 free",
            ],
            id="why, with numbers",
        ),
        pytest.param(6, ["is Scheduled", "3 on nodes"], id="bound once there is room"),
        pytest.param(7, ["attempt 1: Unschedulable", "attempt 2: Scheduled", "bound to gpu-3"], id="history"),
        pytest.param(8, ["is Unschedulable", "the whole cluster has 4 free"], id="as it was"),
        pytest.param(10, ["same"], id="decided again"),
    ],
)
def test_the_output_says_what_the_text_says(
    told: list[tuple[str, int, str]], index: int, texts: list[str]
) -> None:
    output = told[index][2]
    assert [text for text in texts if text not in output] == []
