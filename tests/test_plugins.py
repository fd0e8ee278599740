"""CI does not let a test of PostgreSQL be skipped; at one's own desk it may be."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parent.parent
SKIPPING = """
import pytest

@pytest.mark.parametrize("store", ["sqlite", "{skipped}"])
def test_store(store):
    if store == "{skipped}":
        pytest.skip("no server here")
"""


@pytest.mark.parametrize(
    ("ci", "skipped", "expected"),
    [
        pytest.param("true", "postgresql", pytest.ExitCode.TESTS_FAILED, id="PostgreSQL in CI"),
        pytest.param("true", "windows", pytest.ExitCode.OK, id="anything else in CI"),
        pytest.param("", "postgresql", pytest.ExitCode.OK, id="PostgreSQL at one's desk"),
    ],
)
def test_skipped_postgresql(ci: str, skipped: str, expected: int, tmp_path: Path) -> None:
    (tmp_path / "test_store.py").write_text(SKIPPING.format(skipped=skipped))
    config = ["-c", str(REPO / "pyproject.toml"), "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *config, tmp_path],
        env=os.environ | {"CI": ci, "PYTHONPATH": str(REPO / "tests")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == expected, run.stdout + run.stderr
    assert "1 passed, 1 skipped" in run.stdout
