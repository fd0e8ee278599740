"""`make demo` holds: the real trace, the explanation, the chain, the replay. Its log can be passed on."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python with `arguments`, in `folder`, which has to succeed."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def ganger(folder: Path, store: str, *arguments: str) -> str:
    """What `ganger` prints."""
    return run(folder, "-c", "from cli.main import main; main()", "--store", store, *arguments).stdout


def test_the_demo_holds_and_its_log_can_be_passed_on(tmp_path: Path) -> None:
    done = run(tmp_path, "-m", "examples.demo")
    assert "230 started of 230" in done.stdout
    assert re.search(r"minCount \(\d+\) cannot be satisfied: \d+ scheduled, \d+ remaining", done.stdout)
    assert re.search(r"0/160 nodes are available: .*160 Insufficient nvidia\.com/gpu", done.stdout)
    assert "verified" in done.stdout
    second = done.stdout.partition("Second act")[2]
    assert re.search(r"^pretrain +Gang +2 +3 +3 +3 ", second, re.MULTILINE)
    assert "CompositePodGroup default/wide" in second
    assert "All of it held" in done.stdout

    head = ganger(tmp_path, "demo.db", "log", "head").split()[0]
    ganger(tmp_path, "demo.db", "log", "export", "incident.jsonl.zst", "--redact")
    ganger(tmp_path, "elsewhere.db", "log", "import", "incident.jsonl.zst")
    assert ganger(tmp_path, "elsewhere.db", "log", "head").split()[0] == head
    counted, *_, same = ganger(tmp_path, "elsewhere.db", "replay").splitlines()
    assert re.search(r"[1-9]\d+ attempts decided again", counted)
    assert same.startswith("same: ")
    assert "kalos" not in ganger(tmp_path, "elsewhere.db", "get", "podgroups,nodes", "-A")
