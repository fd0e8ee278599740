"""`python -m benchmarks [ONLY]`: measure, and print one table; ONLY names a module or a row."""

import importlib
import sys

from rich.console import Console
from rich.table import Table

from benchmarks.harness import Row

MODULES = {
    "store": ("P1", "P2", "P3", "P4", "P5"),
    "fold": ("P6", "P7"),
    "snapshot": ("P8", "P9"),
    "placement": ("P10", "P11", "P12", "P14"),
    "company": ("P13",),
    "cycle": ("P16", "P19"),
    "history": ("P17", "P18"),
    "preemption": ("P22",),
    "topology": ("P15", "P23", "P26"),
    "kube": ("P20", "P21", "P24"),
    "audit": ("P25",),
}
"""What there is to measure, and which rows it gives."""


def main(arguments: list[str]) -> int:
    """Measure what was asked for; 0 if every target was met, 1 if not, 2 for a name that is none."""
    only = arguments[0] if arguments else None
    wanted = [name for name, rows in MODULES.items() if only is None or only == name or only.upper() in rows]
    if not wanted:
        known = ", ".join([*MODULES, *(row for rows in MODULES.values() for row in rows)])
        print(f"error: nothing is called {only!r}, there are {known}", file=sys.stderr)
        return 2
    rows: list[Row] = []
    for name in wanted:
        print(f"measuring {name} …", file=sys.stderr)
        rows += importlib.import_module(f"benchmarks.{name}").measure()
    if only is not None and only not in MODULES:
        rows = [row for row in rows if row.id == only.upper()]
    table = Table("", "what", "reference", "measured", "target", "met")
    for row in rows:
        measured, met = f"{row.ratio:.2f}{row.unit}", "yes" if row.met else "NO"
        table.add_row(row.id, row.what, row.reference, measured, row.target, met)
    Console().print(table)
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
