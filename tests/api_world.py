"""The application over a store, under a clock that stands still until it is moved."""

from functools import cache
from typing import Any, cast

import httpx2
from fastapi import FastAPI
from fastapi.testclient import TestClient

from api.app import create_app
from api.clusters import Clusters, Served
from build import START
from store.engine import Store
from worker.clocks import VirtualClock
from worker.loop import Worker

CORE = "/api/v1"
PODS = f"{CORE}/namespaces/default/pods"
NODES = f"{CORE}/nodes"
SCHEDULING = "/apis/scheduling.k8s.io/v1beta1"
GROUPS = f"{SCHEDULING}/namespaces/default/podgroups"
BOOK = "/ganger/v1"


class Api:
    """A client of the application, and what stands behind it."""

    def __init__(self, store: Store) -> None:
        self.clock = VirtualClock(START)
        self.clusters = Clusters(store, "default", clock=self.clock, work=False)
        self.app = _app()
        self.app.state.clusters = self.clusters
        self.client = TestClient(self.app, raise_server_exceptions=False)

    @property
    def served(self) -> Served:
        """The server's own cluster."""
        return self.clusters.open("default")

    def get(self, path: str, **headers: str) -> Any:
        """The body of a GET that succeeds."""
        reply = self.client.get(path, headers=headers)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def post(self, path: str, *manifests: Any) -> list[Any]:
        """The bodies of the POSTs of `manifests`, which succeed."""
        replies = [self.client.post(path, json=manifest) for manifest in manifests]
        assert [reply.status_code for reply in replies] == [201] * len(manifests), replies[-1].text
        return [reply.json() for reply in replies]

    def refused(self, method: str, path: str, **request: Any) -> tuple[int, str, str]:
        """Code, reason and message of a request that is refused; the rest of the Status is checked."""
        return status_of(self.client.request(method, path, **request))

    def settle(self) -> None:
        """Let the worker do all that time would bring."""
        Worker(self.served.cluster).settle(self.clock)


@cache
def _app() -> FastAPI:
    """One application for all tests: its routes take a while to make, and only `state` is a test's own."""
    return create_app(cast(Clusters, None))


def status_of(reply: httpx2.Response) -> tuple[int, str, str]:
    """Code, reason and message of a refusal."""
    body = reply.json()
    assert reply.headers["content-type"] == "application/json"
    fixed = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    assert body == body | fixed | {"code": reply.status_code}
    return reply.status_code, body["reason"], body["message"]
