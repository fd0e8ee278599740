"""Cluster traces: nodes and jobs of real clusters as manifests.

A trace is a folder with `nodes.csv` and `jobs.csv`; the columns are described in
examples/traces/README.md. A job of several Pods is a gang, a PodGroup with its Pods; a job of one
is a Pod without a group. An empty field means that the source does not say, never zero.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from domain.errors import GangerError
from domain.manifests import RUN_SECONDS

GPU = "nvidia.com/gpu"
GPU_MODEL = "ganger.dev/gpu-model"
QUEUE = "ganger.dev/queue"
NAMESPACE = "default"
_OWN_NODE_COLUMNS = ("name", "cpu_milli", "memory_mib", "gpu", "gpu_model", "origin")
_MOST_PODS = "110"


class BadTrace(GangerError):
    """A trace cannot be read; the text names file, line, column, value and rule."""


@dataclass(frozen=True)
class Job:
    """One job. `submit_s` counts from the trace's own zero; `duration_s` None: it never started."""

    name: str
    submit_s: int
    duration_s: int | None
    pods: int
    min_count: int
    requests: Mapping[str, str]
    gpu_models: tuple[str, ...]
    queue: str | None
    """The part of the cluster that it has to run in, where the nodes say which part they are of."""

    @property
    def is_gang(self) -> bool:
        return self.pods > 1

    def manifests(self) -> list[dict[str, Any]]:
        """The objects of the job, the group first."""
        if not self.is_gang:
            return [self._pod(self.name)]
        group = {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": self.name, "namespace": NAMESPACE},
            "spec": {"schedulingPolicy": {"gang": {"minCount": self.min_count}}},
        }
        return [group, *(self._pod(f"{self.name}-{index}") for index in range(self.pods))]

    def _pod(self, name: str) -> dict[str, Any]:
        resources: dict[str, Any] = {"requests": dict(self.requests)}
        if GPU in self.requests:
            resources["limits"] = {GPU: self.requests[GPU]}
        metadata: dict[str, Any] = {"name": name, "namespace": NAMESPACE}
        if self.duration_s is not None:
            metadata["annotations"] = {RUN_SECONDS: str(self.duration_s)}
        spec: dict[str, Any] = {"containers": [{"name": "main", "image": "job", "resources": resources}]}
        if self.is_gang:
            spec["schedulingGroup"] = {"podGroupName": self.name}
        if self.queue is not None:
            spec["nodeSelector"] = {QUEUE: self.queue}
        if self.gpu_models:
            spec["affinity"] = _one_of_models(self.gpu_models)
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@dataclass(frozen=True)
class Trace:
    """Nodes as manifests, and jobs in the order of their submission."""

    name: str
    nodes: tuple[dict[str, Any], ...]
    jobs: tuple[Job, ...]


def read_trace(folder: Path) -> Trace:
    """The trace in `folder`. Raises BadTrace where a file is missing or a field is wrong."""
    nodes = tuple(
        _node(row) for row in _rows(folder / "nodes.csv", ("name", "cpu_milli", "memory_mib", "gpu"))
    )
    wanted = ("job", "submit_s", "duration_s", "pods", "min_count", "cpu_milli", "memory_mib", "gpu")
    divided = any(QUEUE in node["metadata"]["labels"] for node in nodes)
    jobs = sorted(
        (_job(row, divided) for row in _rows(folder / "jobs.csv", wanted)),
        key=lambda job: (job.submit_s, job.name),
    )
    return Trace(folder.resolve().name, nodes, tuple(jobs))


class _Row:
    """A line of a CSV file, with its place for errors."""

    def __init__(self, path: Path, line: int, fields: Mapping[str, str | None]) -> None:
        self._place = f"{path}, line {line}"
        self.fields = fields

    def text(self, column: str) -> str:
        value = self.fields.get(column)
        if not value:
            raise BadTrace(f"{self._place}: {column}: must not be empty")
        return value

    def whole(self, column: str, *, least: int = 0) -> int | None:
        """The whole number in `column`; None if the field is empty or there is no such column."""
        value = self.fields.get(column)
        if not value:
            return None
        if not value.isdecimal() or int(value) < least:
            raise BadTrace(f"{self._place}: {column}: {value!r}: must be a whole number from {least} on")
        return int(value)

    def needed(self, column: str, *, least: int = 0) -> int:
        value = self.whole(column, least=least)
        if value is None:
            raise BadTrace(f"{self._place}: {column}: must not be empty")
        return value

    def labels(self) -> dict[str, str]:
        """The columns that are the folder's own, as node labels."""
        return {
            f"ganger.dev/{column}": value
            for column, value in self.fields.items()
            if column not in _OWN_NODE_COLUMNS and value
        }


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[_Row]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            missing = [column for column in columns if column not in (reader.fieldnames or ())]
            if missing:
                raise BadTrace(f"{path}: has no column {', '.join(missing)}")
            for fields in reader:
                yield _Row(path, reader.line_num, fields)
    except UnicodeDecodeError as error:
        raise BadTrace(f"{path}: is not UTF-8 text") from error
    except OSError as error:
        raise BadTrace(f"{path}: {error.strerror}") from error


def _node(row: _Row) -> dict[str, Any]:
    name = row.text("name")
    allocatable = {"pods": _MOST_PODS, **_resources(row)}
    labels = {"kubernetes.io/hostname": name, **row.labels()}
    model = row.fields.get("gpu_model")
    if model:
        labels[GPU_MODEL] = model
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": allocatable},
    }


def _job(row: _Row, divided: bool) -> Job:
    pods = row.needed("pods", least=1)
    min_count = row.needed("min_count", least=1)
    models = row.fields.get("gpu_model") or ""
    return Job(
        name=row.text("job"),
        submit_s=row.needed("submit_s"),
        duration_s=row.whole("duration_s"),
        pods=pods,
        min_count=min_count,
        requests=_resources(row),
        gpu_models=tuple(models.split("|")) if models else (),
        queue=(row.fields.get("queue") or None) if divided else None,
    )


def _resources(row: _Row) -> dict[str, str]:
    """Amounts as quantities; a share of a GPU counts as a whole one, which is all that Pods can ask for."""
    found = {}
    cpu, memory, gpu = row.whole("cpu_milli"), row.whole("memory_mib"), row.whole("gpu")
    if cpu is not None:
        found["cpu"] = f"{cpu}m"
    if memory is not None:
        found["memory"] = f"{memory}Mi"
    if gpu:
        found[GPU] = str(gpu)
    return found


def _one_of_models(models: tuple[str, ...]) -> dict[str, Any]:
    expression = {"key": GPU_MODEL, "operator": "In", "values": list(models)}
    terms = [{"matchExpressions": [expression]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
