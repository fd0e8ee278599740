"""The demo: a real GPU cluster's trace through an embedded store, and what can be asked afterwards.

Exits with 0 only if every step held: all gangs started, the one that waited longest is explained as
of its first rejection, the chain is unbroken, and every attempt comes out the same once more.
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
from worker.clocks import VirtualClock
from worker.simulating import SimulationSummary, simulate
from worker.traces import read_trace

TRACE = Path(__file__).parent / "traces" / "acme-kalos-2023"
STORE = "demo.db"
NODES = 160
SPEEDUP = 4
"""How much faster than recorded the jobs arrive: as recorded, 160 nodes are never full."""

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
    for question, expected, arguments in steps:
        print(f"\n{question}\n$ ganger --store {STORE} {' '.join(arguments)}\n", flush=True)
        code = ganger(["--store", STORE, *arguments])
        if code != expected:
            print(f"error: ended with code {code}, not {expected}", file=sys.stderr)
            return 1
    print(
        "\nAll of it held. Try next:\n"
        f"  .venv/bin/ganger --store {STORE} queue --at {at_first}\n"
        f"  .venv/bin/ganger --store {STORE} describe {kind} {name}\n"
        f"  .venv/bin/ganger --store {STORE} serve    # and open http://127.0.0.1:8470/docs"
    )
    return 0


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
