"""`python3 examples/racks/nodes.py`: the hosts of a real cluster as Node manifests, on standard output.

The trace knows hosts and switches only. A rack is the pair of a host's aggregation and ToR switch,
since the names of ToR switches come again under other aggregation switches. What a host has is not
in the trace: all get 8 GPUs, 96 cpu and 1 TiB.
"""

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TRACE = Path(__file__).parents[1] / "traces" / "lingjun-2023-topology"
ALLOCATABLE = {"cpu": "96", "memory": "1Ti", "nvidia.com/gpu": "8", "pods": "110"}


def nodes() -> Iterator[dict[str, Any]]:
    """The hosts as manifests, by name."""
    with (TRACE / "nodes.csv").open(newline="", encoding="utf-8") as file:
        for host in csv.DictReader(file):
            labels = {
                "example.com/pod": host["psw"],
                "example.com/rack": f"{host['psw']}-{host['asw']}",
                "kubernetes.io/hostname": host["name"],
            }
            yield {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"labels": labels, "name": host["name"]},
                "status": {"allocatable": ALLOCATABLE},
            }


if __name__ == "__main__":
    json.dump({"apiVersion": "v1", "kind": "List", "items": list(nodes())}, sys.stdout, indent=1)
