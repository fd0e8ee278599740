"""What `pip install ganger` puts on a machine is complete: all packages, and the migrations."""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parent.parent
PACKAGES = ("domain", "store", "worker", "api", "cli", "migrations", "ganger_testing")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """The wheel, built from a copy so that nothing is left in the checkout."""
    checkout = tmp_path_factory.mktemp("checkout")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPO / name, checkout)
    for name in PACKAGES:
        shutil.copytree(REPO / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
    out = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--wheel-dir", out, checkout], check=True)
    (built,) = out.glob("ganger-*.whl")
    with zipfile.ZipFile(built) as opened:
        yield opened


@pytest.mark.parametrize("package", PACKAGES)
def test_wheel_has_every_file_of(package: str, wheel: zipfile.ZipFile) -> None:
    ours = {
        path.relative_to(REPO).as_posix()
        for path in (REPO / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert ours <= set(wheel.namelist())


MIGRATE = """
from sqlalchemy import create_engine
from store import schema

with create_engine("sqlite:///new.db").begin() as connection:
    schema.upgrade(connection, "new.db")
    assert schema.current_revision(connection, "new.db") == schema.REVISION
print(schema.__file__)
"""


def test_what_is_installed_can_make_a_store(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path / "site")
    run = subprocess.run(
        [sys.executable, "-c", MIGRATE],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert Path(run.stdout.strip()).is_relative_to(tmp_path / "site")


def test_what_is_made_up_for_tests_is_an_extra(wheel: zipfile.ZipFile) -> None:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    required = [line for line in wheel.read(name).decode().splitlines() if "hypothesis" in line]
    assert required == ['Requires-Dist: hypothesis>=6.130; extra == "testing"']
