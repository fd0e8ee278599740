"""`make demo` holds: the real trace, the explanation, the chain, the replay."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_demo_holds(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.demo"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "230 started of 230" in done.stdout
    assert re.search(r"minCount \(\d+\) cannot be satisfied: \d+ scheduled, \d+ remaining", done.stdout)
    assert re.search(r"0/160 nodes are available: .*160 Insufficient nvidia\.com/gpu", done.stdout)
    assert "verified" in done.stdout
    second = done.stdout.partition("Second act")[2]
    assert re.search(r"^pretrain +Gang +2 +3 +3 +3 ", second, re.MULTILINE)
    assert "CompositePodGroup default/wide" in second
    assert "All of it held" in done.stdout
