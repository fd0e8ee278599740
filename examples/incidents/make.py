"""Makes the logs of this folder: five clusters in which a job does not start, each for another cause.

`python -m examples.incidents.make [FOLDER]` writes them, here unless another folder is named. Time is
virtual and uids are counted, so that the bytes are the same each time.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from domain.admission.kinds import kind_named
from domain.manifests import RUN_SECONDS
from domain.times import SECOND
from store.archive import export_log, open_archive
from store.engine import open_store
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.loop import Worker

Manifest = dict[str, Any]

FOLDER = Path(__file__).resolve().parent
MIDNIGHT = 1_772_409_600 * SECOND
"""2026-03-02T00:00:00Z, a Monday."""

RACK = "topology.kubernetes.io/rack"
GPU = "nvidia.com/gpu"
HOUR = 3600


class Day:
    """A cluster in which things happen at times of one day."""

    def __init__(self, cluster: Cluster, clock: VirtualClock) -> None:
        self._cluster = cluster
        self._clock = clock
        self._worker = Worker(cluster)

    def at(self, time: str) -> "Day":
        """Let the scheduler and the nodes work until `time`, "10:12"."""
        hours, minutes = map(int, time.split(":"))
        self._worker.advance(self._clock, MIDNIGHT + (hours * 60 + minutes) * 60 * SECOND)
        return self

    def apply(self, *manifests: Manifest) -> None:
        """One batch of objects, created or replaced."""
        self._cluster.apply(manifests)

    def delete(self, kind: str, key: str) -> None:
        """Delete the object `key`, "namespace/name"."""
        self._cluster.delete([(kind_named(kind), key)])


def too_few_gpus(day: Day) -> None:
    """Enough GPUs are free in the cluster, but not on any one node."""
    day.at("08:00").apply(*(node(f"a100-{number}", cpu=96, memory="1024Gi", gpu=8) for number in (1, 2, 3)))
    day.at("08:30").apply(
        *gang("embeddings", 2, of=2, namespace="search", cpu=12, gpu=4, seconds=HOUR),
    )
    for minute, name in ((2, "mei"), (9, "jonas"), (21, "amara")):
        day.at(f"09:{minute:02}").apply(
            pod(f"notebook-{name}", namespace="research", cpu=8, memory="64Gi", gpu=1, spread="notebook")
        )
    day.at("09:40").apply(pod("eval-nightly", namespace="research", cpu=8, gpu=2, seconds=HOUR))
    day.at("10:12").apply(*gang("llama-pretrain", 2, of=2, namespace="research", cpu=64, gpu=8))
    day.at("10:20").apply(pod("tokenizer", namespace="research", cpu=4, seconds=HOUR // 4))
    day.at("11:00")


def full_rack(day: Day) -> None:
    """A gang that runs in one rack lost a member, and another job took the place that it left."""
    day.at("08:00").apply(
        *(
            node(f"r{rack}-n{number}", cpu=32, memory="256Gi", gpu=4, labels={RACK: f"rack-{rack}"})
            for rack in (1, 2)
            for number in (1, 2)
        )
    )
    ring = {"topology": [{"key": RACK}]}
    day.at("09:05").apply(
        *gang("allreduce", 2, of=2, namespace="vision", cpu=24, gpu=4, schedulingConstraints=ring)
    )
    day.at("09:30").apply(pod("label-studio", namespace="vision", cpu=4, selector={RACK: "rack-2"}))
    day.at("10:03").delete("Pod", "vision/allreduce-1")
    day.at("10:04").apply(
        pod("tensorboard", namespace="vision", cpu=8, memory="16Gi", gpu=1, selector={RACK: "rack-1"})
    )
    day.at("10:12").apply(pod("allreduce-1b", namespace="vision", cpu=24, gpu=4, group="allreduce"))
    day.at("10:30")


def part_too_big(day: Day) -> None:
    """A job of three parts, of which one asks for more than a node has."""
    day.at("08:00").apply(
        node("cpu-1", cpu=64, memory="256Gi"),
        *(node(f"h100-{number}", cpu=96, memory="1024Gi", gpu=8) for number in (1, 2)),
    )
    day.at("09:15").apply(*gang("rollouts", 2, of=2, namespace="agents", cpu=8, gpu=1, seconds=2 * HOUR))
    below: Manifest = {"parentCompositePodGroupName": "ray-ppo"}
    day.at("10:12").apply(
        composite("ray-ppo", 3, namespace="agents"),
        *gang("ray-head", 1, of=1, namespace="agents", cpu=8, template="head", **below),
        *gang("ray-actors", 4, of=4, namespace="agents", cpu=4, gpu=1, template="actors", **below),
        *gang("ray-learner", 1, of=1, namespace="agents", cpu=32, gpu=16, template="learner", **below),
    )
    day.at("10:25").apply(pod("dashboard", namespace="agents", cpu=2))
    day.at("10:45")


def forgotten_gate(day: Day) -> None:
    """One member still waits for somebody to lift its scheduling gate."""
    gate = "quota.example.com/approved"
    day.at("08:00").apply(*(node(f"l40-{number}", cpu=32, memory="256Gi", gpu=4) for number in (1, 2)))
    day.at("09:50").apply(*gang("whisper", 2, of=2, namespace="speech", cpu=8, gpu=1, seconds=HOUR))
    day.at("10:12").apply(
        *gang("finetune", 3, of=3, namespace="speech", cpu=8, gpu=1, gates=[gate]),
    )
    for member in (0, 2):
        day.at("10:14").apply(pod(f"finetune-{member}", namespace="speech", cpu=8, gpu=1, group="finetune"))
    day.at("10:20").apply(pod("transcribe", namespace="speech", cpu=4, gpu=1, seconds=HOUR))
    day.at("10:40")


def slow_to_end(day: Day) -> None:
    """A gang has preempted others, and one of these takes the hour that it may take to end."""
    day.at("08:00").apply(
        priority_class("production", 1000),
        *(node(f"a10-{number}", cpu=32, memory="128Gi", gpu=4) for number in (1, 2)),
    )
    day.at("08:40").apply(pod("backfill-1", namespace="batch", cpu=16, gpu=4, grace=HOUR))
    day.at("08:41").apply(pod("backfill-2", namespace="batch", cpu=16, gpu=4))
    day.at("10:12").apply(
        *gang("chat-serving", 2, of=2, namespace="prod", cpu=16, gpu=4, priority="production")
    )
    day.at("10:16").apply(pod("canary", namespace="prod", cpu=2, priorityClassName="production"))
    day.at("10:35")


INCIDENTS: Mapping[str, Callable[[Day], None]] = {
    "too-few-gpus": too_few_gpus,
    "full-rack": full_rack,
    "part-too-big": part_too_big,
    "forgotten-gate": forgotten_gate,
    "slow-to-end": slow_to_end,
}
"""What happened, by the name of the file and of the cluster in it."""


def node(
    name: str, *, cpu: int, memory: str, gpu: int | None = None, labels: Mapping[str, str] | None = None
) -> Manifest:
    """A Node with what it has for Pods."""
    gpus = {} if gpu is None else {GPU: str(gpu)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "status": {"allocatable": {"cpu": str(cpu), "memory": memory, "pods": "110", **gpus}},
    }


def pod(
    name: str,
    *,
    namespace: str,
    cpu: int,
    memory: str = "32Gi",
    gpu: int | None = None,
    group: str | None = None,
    seconds: int | None = None,
    grace: int | None = None,
    selector: Mapping[str, str] | None = None,
    gates: Iterable[str] = (),
    spread: str | None = None,
    **spec: Any,
) -> Manifest:
    """A Pod that ends `seconds` after it started, if that is said, and keeps off nodes with its like."""
    gpus = {} if gpu is None else {GPU: str(gpu)}
    resources: Manifest = {"requests": {"cpu": str(cpu), "memory": memory, **gpus}}
    if gpus:
        resources["limits"] = gpus
    spec["containers"] = [{"name": "main", "image": "registry.example/job:1", "resources": resources}]
    metadata: Manifest = {"name": name, "namespace": namespace}
    if group is not None:
        spec["schedulingGroup"] = {"podGroupName": group}
    if seconds is not None:
        metadata["annotations"] = {RUN_SECONDS: str(seconds)}
    if grace is not None:
        spec["terminationGracePeriodSeconds"] = grace
    if selector is not None:
        spec["nodeSelector"] = dict(selector)
    if gates:
        spec["schedulingGates"] = [{"name": gate} for gate in gates]
    if spread is not None:
        metadata["labels"] = {"app": spread}
        term = {
            "labelSelector": {"matchLabels": {"app": spread}},
            "topologyKey": "kubernetes.io/hostname",
        }
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def gang(
    name: str,
    min_count: int,
    *,
    of: int,
    namespace: str,
    cpu: int,
    gpu: int | None = None,
    seconds: int | None = None,
    gates: Iterable[str] = (),
    template: str | None = None,
    priority: str | None = None,
    **spec: Any,
) -> list[Manifest]:
    """A PodGroup that starts with `min_count` Pods, and its `of` Pods, which are alike."""
    shared: Manifest = {} if priority is None else {"priorityClassName": priority}
    if template is not None:
        spec["workloadRef"] = {"workloadName": "ray-ppo", "templateName": template}
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"schedulingPolicy": {"gang": {"minCount": min_count}}, **shared, **spec},
    }
    members = (
        pod(
            f"{name}-{index}",
            namespace=namespace,
            cpu=cpu,
            gpu=gpu,
            group=name,
            seconds=seconds,
            gates=gates,
            **shared,
        )
        for index in range(of)
    )
    return [group, *members]


def composite(name: str, min_groups: int, *, namespace: str) -> Manifest:
    """A CompositePodGroup that starts with `min_groups` of the groups below it."""
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "schedulingPolicy": {"gang": {"minGroupCount": min_groups}},
            "workloadRef": {"workloadName": name, "templateName": "job"},
        },
    }


def priority_class(name: str, value: int) -> Manifest:
    """A PriorityClass."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


def counted_uids() -> Callable[[], str]:
    """Makes uids that are the same each time."""
    numbers = count(1)
    return lambda: f"{next(numbers):08x}-0000-4000-8000-000000000000"


def make(folder: Path) -> None:
    """Write the log of each incident into `folder`."""
    with TemporaryDirectory() as scratch:
        store = open_store(str(Path(scratch) / "ganger.db"), create=True, durable=False)
        try:
            for name, happened in INCIDENTS.items():
                clock = VirtualClock(MIDNIGHT)
                cluster = Cluster.open(store, name, clock=clock, new_uid=counted_uids())
                happened(Day(cluster, clock))
                with open_archive(folder / f"{name}.jsonl", "w") as out:
                    export_log(cluster.log, out)
        finally:
            store.close()


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
