"""Objects of a cluster that a running `ganger serve` has, through Kubernetes' own paths."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cli.client import Client, ObjectList, path_of
from cli.errors import FromServer
from cli.objects import Change, GroupFacts, Shown, facts_of, key_of
from cli.settings import DEFAULT_NAMESPACE
from domain.admission.kinds import EVENT, NODE, Kind, kind_named, kind_of
from domain.quantities import milli, whole
from domain.resources import CPU
from domain.times import parse_rfc3339
from worker.clocks import SystemClock
from worker.history import Entry

_DECIDED = ("PodScheduled", "PodGroupInitiallyScheduled", "CompositePodGroupInitiallyScheduled")
"""Conditions that say what ganger decided."""
_COUNTED = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
"""What ganger counts for a PodDisruptionBudget whose status nobody writes."""


class RemoteObjects:
    """The objects of a cluster on a server, now or as of the moment that `at` names."""

    def __init__(self, url: str, cluster: str, at: str | None = None) -> None:
        self._client = Client(url, cluster)
        self._at = at
        self.facts = RemoteFacts(self._client, at)

    def one(self, kind: Kind, namespace: str, name: str) -> Shown:
        """The object of this name. Raises FromServer."""
        return self._client.read(path_of(kind, namespace, name), dict, at=self._at)

    def all(self, kind: Kind, namespace: str | None) -> list[Shown]:
        """The objects of a kind, of one namespace or all, sorted by namespace and name."""
        listed = self._client.read(path_of(kind, namespace or ""), ObjectList, at=self._at)
        named = {"apiVersion": kind.api_version, "kind": kind.name}
        return sorted(({**named, **item} for item in listed.items), key=key_of)

    def history(self, kind: Kind, namespace: str, name: str) -> Iterator[Entry]:
        """What concerns an object, in the order of the log. Raises FromServer."""
        return self._client.history(kind, namespace, name, until=self._at)

    def events(self, kind: Kind, shown: Shown) -> list[Shown]:
        """The Kubernetes Events about an object, the one that happened last at the end. Raises FromServer."""
        if not kind.namespaced:
            return []
        metadata = shown["metadata"]
        about = {"kind": kind.name, **{field: metadata[field] for field in ("namespace", "name", "uid")}}
        selector = ",".join(f"involvedObject.{field}={value}" for field, value in about.items())
        path = path_of(EVENT, metadata["namespace"])
        listed = self._client.read(path, ObjectList, at=self._at, fieldSelector=selector)
        return sorted(listed.items, key=lambda event: int(event["metadata"]["resourceVersion"]))

    def apply(self, manifest: Mapping[str, Any], *, namespace: str | None, dry_run: bool) -> Change:
        """Create the object or replace it by the whole manifest.

        Raises FromServer, and BadRequest for a kind that ganger does not know.
        """
        kind = kind_of(manifest)
        given = manifest.get("metadata")
        metadata = given if isinstance(given, dict) else {}
        place = str(namespace or metadata.get("namespace") or DEFAULT_NAMESPACE)
        all_of_them = path_of(kind, place, api_version=manifest["apiVersion"])
        name = str(metadata.get("name") or "")
        path = path_of(kind, place, name, manifest["apiVersion"])
        before = self._find(path) if name else None
        after = self._client.request(
            "POST" if before is None else "PUT",
            all_of_them if before is None else path,
            dict,
            {"dryRun": "All" if dry_run else None},
            manifest,
        )
        same = before is not None and _substance(after) == _substance(before)
        change = "created" if before is None else "unchanged" if same else "configured"
        return Change(kind, after["metadata"]["name"], change, self._client.take_warnings())

    def delete(
        self,
        targets: Iterable[tuple[Kind, str, str]],
        *,
        grace: int | None,
        ignore_not_found: bool,
        dry_run: bool,
    ) -> list[Change]:
        """Delete objects, given as kind, namespace and name, one after the other. Raises FromServer."""
        changes = []
        for kind, namespace, name in targets:
            try:
                query = {
                    "gracePeriodSeconds": None if grace is None else str(grace),
                    "dryRun": "All" if dry_run else None,
                }
                answer = self._client.request("DELETE", path_of(kind, namespace, name), dict, query)
            except FromServer as refusal:
                if ignore_not_found and refusal.reason == "NotFound":
                    continue
                raise
            gone = answer.get("kind") == "Status"
            changes.append(Change(kind, name, "deleted" if gone else "terminating"))
        return changes

    def _find(self, path: str) -> Shown | None:
        try:
            return self._client.read(path, dict)
        except FromServer as refusal:
            if refusal.reason == "NotFound":
                return None
            raise


class RemoteFacts:
    """What tables say beside the objects, taken from the server's explanations."""

    def __init__(self, client: Client, at: str | None) -> None:
        line = None if at is None else client.queue(at=at)
        self.now = SystemClock().now() if line is None else parse_rfc3339(line.time)
        self._client = client
        self._at = at
        self._groups: dict[tuple[str, str], GroupFacts] = {}
        self._nodes: dict[str, Mapping[str, int]] = {}

    def group(self, kind: str, key: str) -> GroupFacts:
        """How the group `namespace/name` of a kind stands."""
        if (kind, key) not in self._groups:
            namespace, _, name = key.partition("/")
            told = self._client.why(kind_named(kind), namespace, name, at=self._at)
            self._groups[kind, key] = facts_of(told)
        return self._groups[kind, key]

    def used(self, node: str) -> Mapping[str, int]:
        """What the Pods on a node request, by resource in base units, with `pods`."""
        if node not in self._nodes:
            told = self._client.why(NODE, "", node, at=self._at)
            self._nodes[node] = {
                each.name: (milli if each.name == CPU else whole)(each.used) for each in told.capacity
            }
        return self._nodes[node]


def _substance(shown: Shown) -> Shown:
    """`shown` without what ganger adds to it by itself, which the answer to a dry run has not."""
    metadata = {name: value for name, value in shown["metadata"].items() if name != "resourceVersion"}
    status = dict(shown.get("status") or {})
    status.pop("nominatedNodeName", None)
    for field in _COUNTED:
        status.pop(field, None)
    found = [each for each in status.pop("conditions", None) or () if each["type"] not in _DECIDED]
    return {**shown, "metadata": metadata, "status": {**status, "conditions": found}}
