"""The rules of the house that no linter knows: a pure domain, locked dependencies, docs that are true."""

import ast
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPO = Path(__file__).resolve().parent.parent
COPIED = (REPO / "tests" / "conformance", REPO / "tests" / "cases", REPO / "examples" / "traces")
TOOLS_FOLDER = re.compile(r"__pycache__|build|dist|.+\.egg-info|\.(?!ci$).+")
TEXT_SUFFIXES = frozenset(".ini .json .lock .mako .md .py .toml .txt .yaml".split())
DECISIONS = sorted((REPO / "docs" / "decisions").glob("*.md"))
LOCKS = sorted((REPO / "requirements").glob("*.lock"))

IMPURE_MODULES = frozenset(
    "asyncio concurrent contextvars ctypes getpass glob http io locale logging multiprocessing os "
    "pathlib platform queue random secrets select shutil signal socket sqlite3 subprocess tempfile "
    "threading time urllib uuid warnings weakref zoneinfo".split()
)
IMPURE_FUNCTIONS = frozenset("breakpoint eval exec hash id input open print".split())
CLOCK_METHODS = frozenset("now today utcnow".split())

# In two parts each, so that this file does not break its own rule.
PRIVATE_TEXTS = tuple(
    left + right
    for left, right in [
        ("/wo", "rk/"),
        ("/ro", "ot/"),
        ("semantics", ".md"),
        ("pypi", ".org"),
        ("python", "hosted"),
        ("crates", ".io"),
        ("npm", "js."),
        ("proxy.go", "lang"),
    ]
)


def _ours() -> Iterator[Path]:
    """Every text file that is written here: nothing that tools made, nothing that was copied in."""
    for folder, subfolders, names in os.walk(REPO):
        subfolders[:] = sorted(
            name
            for name in subfolders
            if not TOOLS_FOLDER.fullmatch(name) and Path(folder, name) not in COPIED
        )
        for name in sorted(names):
            if Path(name).suffix in TEXT_SUFFIXES or name in ("Makefile", "run", ".gitignore"):
                yield Path(folder, name)


def _impurities(source: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                modules = [alias.name for alias in names]
            case ast.ImportFrom(module=str(module)):
                modules = [module]
            case ast.Call(func=ast.Name(id=name)) if name in IMPURE_FUNCTIONS:
                found.append(f"line {node.lineno}: {name}()")
                continue
            case ast.Call(func=ast.Attribute(attr=name)) if name in CLOCK_METHODS:
                found.append(f"line {node.lineno}: .{name}()")
                continue
            case _:
                continue
        found += [
            f"line {node.lineno}: import {module}"
            for module in modules
            if module.split(".")[0] in IMPURE_MODULES or module.startswith("numpy.random")
        ]
    return found


@pytest.mark.parametrize(
    "path", sorted((REPO / "domain").rglob("*.py")), ids=lambda path: path.relative_to(REPO).as_posix()
)
def test_domain_reads_no_clock_no_chance_no_machine(path: Path) -> None:
    assert _impurities(path.read_text()) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("import os.path", ["line 1: import os.path"], id="import"),
        pytest.param("from time import monotonic", ["line 1: import time"], id="from"),
        pytest.param("def f():\n    import random", ["line 2: import random"], id="import in a function"),
        pytest.param("datetime.now(UTC)", ["line 1: .now()"], id="clock"),
        pytest.param("hash(pod)", ["line 1: hash()"], id="hash"),
        pytest.param("hashlib.sha256(line).digest()", [], id="a hash that is the same everywhere"),
        pytest.param("from domain.errors import Invalid", [], id="ours"),
    ],
)
def test_impurities_are_seen(source: str, expected: list[str]) -> None:
    assert _impurities(source) == expected


def test_nothing_private_or_of_one_machine_is_named() -> None:
    named = [
        f"{path.relative_to(REPO)}: {text}"
        for path in _ours()
        for text in PRIVATE_TEXTS
        if text in path.read_text(encoding="utf-8")
    ]
    assert named == []


def test_each_decision_has_a_number_of_its_own() -> None:
    numbers = [match[1] for path in DECISIONS if (match := re.match(r"(\d{4})-[a-z0-9-]+\.md$", path.name))]
    assert len(set(numbers)) == len(DECISIONS)


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_says_why_and_what_else(path: Path) -> None:
    headings = re.findall(r"^## (.+)$", path.read_text(), flags=re.MULTILINE)
    assert headings == ["Context", "Decision", "Consequences", "Alternatives"]


def test_changelog_has_a_place_for_the_next_line() -> None:
    assert re.search(r"^## \[?Unreleased\]?$", (REPO / "CHANGELOG.md").read_text(), flags=re.MULTILINE)


@pytest.mark.parametrize("path", [p for p in _ours() if p.suffix == ".md"], ids=lambda p: p.name)
def test_links_of_the_docs_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text())
    dead = [link for link in links if "://" not in link and not (path.parent / link).exists()]
    assert dead == []


def test_make_targets_of_the_docs_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (REPO / "Makefile").read_text(), flags=re.MULTILINE))
    named = {
        (path.name, target)
        for path in _ours()
        if path.suffix == ".md"
        for target in re.findall(r"`make ([a-z]+)", path.read_text())
    }
    assert named
    assert [each for each in named if each[1] not in targets] == []


def _pins(lock: Path) -> dict[str, set[str]]:
    """Versions by name; two of one name where they differ by Python."""
    pins: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([\w.\-]+)==([^\s;]+)", lock.read_text(), flags=re.MULTILINE):
        pins.setdefault(canonicalize_name(name), set()).add(version)
    return pins


def _required(lock: str) -> list[Requirement]:
    project = tomllib.loads((REPO / "pyproject.toml").read_text())
    groups = project["dependency-groups"]
    wanted: dict[str, list[str]] = {
        "runtime": project["project"]["dependencies"] + groups["build"],
        "dev": project["project"]["dependencies"] + groups["build"] + groups["test"] + groups["bench"],
        "lock": groups["lock"],
    }
    return [Requirement(text) for text in wanted[lock]]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_lock_has_what_pyproject_asks_for(lock: Path) -> None:
    pins = _pins(lock)
    for requirement in _required(lock.stem):
        versions = pins.get(canonicalize_name(requirement.name), set())
        assert versions, f"`make lock`: {requirement.name} is not in {lock.name}"
        assert all(requirement.specifier.contains(version) for version in versions), requirement


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_lock_is_all_pins_with_hashes(lock: Path) -> None:
    text = re.sub(r"\s*#.*", "", lock.read_text())
    for entry in text.replace("\\\n", " ").splitlines():
        assert re.fullmatch(r"\S+==\S+( ; .+?)?(\s+--hash=sha256:[0-9a-f]{64})+\s*", entry), entry


def test_demo_and_tests_run_on_the_same_versions() -> None:
    runtime, dev = _pins(REPO / "requirements" / "runtime.lock"), _pins(REPO / "requirements" / "dev.lock")
    assert {name: dev.get(name) for name in runtime} == runtime
