"""Pages whose commands are run, in order, in a folder of their own."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
_COMMAND = re.compile(r"^    ((?:ganger|python3) .*)$", re.MULTILINE)


class Told(NamedTuple):
    """A command with its exit code and all that it printed."""

    command: str
    code: int
    output: str


def walk(page: Path, folder: Path, *examples: str) -> list[Told]:
    """Run what `page` says in `folder`, which gets a copy of these folders of `examples/`."""
    for name in examples:
        shutil.copytree(ROOT / "examples" / name, folder / name)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GANGER_")}
    environment["PATH"] = os.pathsep.join((str(BIN), os.environ["PATH"]))
    found = []
    for command in _COMMAND.findall(page.read_text(encoding="utf-8")):
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        found.append(Told(command, done.returncode, done.stdout + done.stderr))
    assert found, f"{page.name} has no command"
    return found


def lacking(told: Told, *texts: str) -> list[str]:
    """Those of `texts` that the command did not print, wherever it breaks its lines."""
    output = " ".join(told.output.split())
    return [text for text in texts if text not in output]
