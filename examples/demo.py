"""The demo: a real GPU cluster's trace through an embedded store, and what can be asked afterwards; then
trees of groups in the racks of a real network.

Exits with 0 only if every step held: all gangs started, the one that waited longest is explained as
of its first rejection, the chain is unbroken, every attempt comes out the same once more, and of the
two trees the one that has to started and the other was rejected.
"""

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cli.console import progress
from cli.main import run as ganger
from cli.opening import open_for_writing
from cli.settings import DEFAULT_CLUSTER, Settings
from cli.text.simulation import summary_lines
from domain.admission.documents import read_documents
from examples.racks.nodes import nodes
from worker.clocks import SystemClock, VirtualClock
from worker.loop import Worker
from worker.simulating import SimulationSummary, simulate
from worker.traces import read_trace

TRACE = Path(__file__).parent / "traces" / "acme-kalos-2023"
STORE = "demo.db"
NODES = 160
SPEEDUP = 4
"""How much faster than recorded the jobs arrive: as recorded, 160 nodes are never full."""

FOLDER = Path(__file__).parent / "racks"
RACKS = "racks"
JOBS = ("pretrain", "wide")

HELD, NOT_PLACED = 0, 1


def main() -> int:
    """Run the demo in the current folder; 0 if all of it held."""
    print(
        f"Trace {TRACE.name} on {NODES} of its nodes (8 GPUs each), its jobs arriving {SPEEDUP} times as\n"
        f"fast as recorded, in virtual time, through the SQLite store {STORE}:\n",
        flush=True,
    )
    summary = _simulate()
    print("\n".join(summary_lines(summary)))
    if summary.longest is None or summary.first_rejection is None or summary.gangs_started < summary.gangs:
        print("error: some gang never started, or none ever had to wait", file=sys.stderr)
        return 1
    kind, _, key = summary.longest.partition("/")
    name = key.rpartition("/")[2]
    at_first = str(summary.first_rejection)
    steps: Sequence[tuple[str, int, Sequence[str]]] = (
        (
            "Why was the gang that waited longest rejected at first?",
            NOT_PLACED,
            ("why", kind, name, "--at", at_first),
        ),
        ("What became of it?", HELD, ("history", kind, name, "--since", at_first, "--limit", "10")),
        ("Is the book unbroken?", HELD, ("log", "verify")),
        ("Does every decision come out the same once more?", HELD, ("replay",)),
    )
    if not _ask(steps, ["--store", STORE]) or not _racks():
        return 1
    print(
        "\nAll of it held. Try next:\n"
        f"  .venv/bin/ganger --store {STORE} queue --at {at_first}\n"
        f"  .venv/bin/ganger --store {STORE} describe {kind} {name}\n"
        f"  .venv/bin/ganger --store {STORE} serve    # and open http://127.0.0.1:8470"
    )
    return 0


def _ask(steps: Sequence[tuple[str, int, Sequence[str]]], where: Sequence[str]) -> bool:
    """Run the command of each step; whether all ended with the code that is expected."""
    for question, expected, arguments in steps:
        print(f"\n{question}\n$ ganger {' '.join([*where, *arguments])}\n", flush=True)
        code = ganger([*where, *arguments])
        if code != expected:
            print(f"error: ended with code {code}, not {expected}", file=sys.stderr)
            return False
    return True


def _racks() -> bool:
    """The second act: two trees of groups on the hosts of a real network; whether it went as expected."""
    hosts = list(nodes())
    print(
        f"\nSecond act: {len(hosts)} hosts of a real GPU cluster with their switches. Two jobs of three\n"
        "replicas, each replica to be in one rack, and all of them below one aggregation switch.",
        flush=True,
    )
    settings = Settings(store=STORE, cluster=RACKS)
    clock = VirtualClock(SystemClock().now())
    with open_for_writing(settings, clock=clock, durable=False) as cluster:
        cluster.apply(hosts)
        for job in JOBS:
            cluster.apply(
                [found.value for found in read_documents((FOLDER / f"{job}.yaml").read_text(), job)]
            )
        Worker(cluster).settle(clock)
    return _ask(
        (
            (
                "pretrain has 8 Pods a replica, as many as the largest rack has hosts. Does it run?",
                HELD,
                ("get", "cpg"),
            ),
            ("wide has 9. Why does it not?", NOT_PLACED, ("why", "compositepodgroup/wide")),
        ),
        ["--store", STORE, "--cluster", RACKS],
    )


def _simulate() -> SimulationSummary:
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            Path(STORE + suffix).unlink()
    clock = VirtualClock(0)
    settings = Settings(store=STORE, cluster=DEFAULT_CLUSTER)
    with open_for_writing(settings, clock=clock, durable=False) as cluster, progress("simulating") as bar:
        return simulate(cluster, clock, read_trace(TRACE), nodes=NODES, speedup=SPEEDUP, progress=bar)


if __name__ == "__main__":
    sys.exit(main())
