"""What docs/testing.md says to write runs as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

from walkthrough import ROOT

BLOCKS = re.findall(
    r"^```python\n(.*?)^```$", (ROOT / "docs" / "testing.md").read_text(), re.DOTALL | re.MULTILINE
)


def test_every_example_passes(tmp_path: Path) -> None:
    for number, block in enumerate(BLOCKS):
        (tmp_path / f"test_{number}.py").write_text(block)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    tests = sum(block.count("def test_") for block in BLOCKS)
    assert f"{tests} passed" in done.stdout
