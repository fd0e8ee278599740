"""A kubectl as everybody has it, against a running server, by its kubeconfig alone."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from build import group, node, pod
from serving import TIMEOUT_S, Server, serving

KUBECTL = Path(sys.executable).with_name("kubectl")


class Kubectl:
    """kubectl in `folder`, whose current context is a cluster of `server`."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.folder = folder
        self.server = server
        self.use(str(server.client.base_url))

    def use(self, url: str) -> None:
        """Write a kubeconfig for the cluster at `url`."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "ganger", "cluster": {"server": url}}],
            "contexts": [{"name": "ganger", "context": {"cluster": "ganger"}}],
            "current-context": "ganger",
        }
        (self.folder / "config").write_text(yaml.safe_dump(config))

    def write(self, name: str, *manifests: object) -> None:
        (self.folder / name).write_text(yaml.safe_dump_all(manifests))

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        own = {
            "HOME": str(self.folder),
            "KUBECONFIG": str(self.folder / "config"),
            "PATH": os.environ["PATH"],
        }
        return subprocess.Popen(
            [str(KUBECTL), *words],
            cwd=self.folder,
            env=own | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, line: str, *words: str, code: int = 0, **environment: str) -> str:
        """What it prints, of both kinds, without the end of the line."""
        process = self.start(*line.split(), *words, **environment)
        out, told = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == code, out + told
        return (told + out).rstrip("\n")

    def get(self, name: str) -> dict[str, object]:
        found: dict[str, object] = json.loads(self(f"get {name} -o json"))
        return found


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    with serving(tmp_path_factory.mktemp("server")) as server:
        yield Kubectl(tmp_path_factory.mktemp("client"), server)


def test_what_is_applied_is_bound_changed_and_gone(kubectl: Kubectl) -> None:
    kubectl.write("all.yaml", node("n1", cpu="4"), group("g", min_count=1), pod("p", cpu="1", group="g"))
    created = "node/n1 created\npodgroup.scheduling.k8s.io/g created\npod/p created"
    assert kubectl("apply -f all.yaml") == created
    assert kubectl("apply -f all.yaml") == created.replace("created", "unchanged")
    assert kubectl("wait pod/p --for=condition=PodScheduled") == "pod/p condition met"
    assert kubectl("wait pod/p --for=jsonpath={.status.phase}=Running") == "pod/p condition met"

    headers, row = (line.split() for line in kubectl("get pod p").splitlines())
    assert (headers, row[:4]) == (["NAME", "STATUS", "GROUP", "NODE", "AGE"], ["p", "Running", "g", "n1"])

    kubectl.write("all.yaml", node("n1", cpu="6"), group("g", min_count=2), pod("p", cpu="1", group="g"))
    assert kubectl("apply -f all.yaml") == (
        "node/n1 configured\npodgroup.scheduling.k8s.io/g configured\npod/p unchanged"
    )
    assert kubectl("get podgroup g -o jsonpath={.spec.schedulingPolicy.gang.minCount}") == "2"
    assert kubectl("diff -f all.yaml") == ""

    watching = kubectl.start("get", "pods", "--watch", "--output=name")
    assert watching.stdout is not None
    assert watching.stdout.readline() == "pod/p\n"
    assert kubectl("label pod p app=a") == "pod/p labeled"
    assert watching.stdout.readline() == "pod/p\n"
    watching.kill()
    watching.communicate(timeout=TIMEOUT_S)

    assert kubectl("delete -f all.yaml --grace-period=1") == (
        'node "n1" deleted\n'
        'podgroup.scheduling.k8s.io "g" deleted from default namespace\n'
        'pod "p" deleted from default namespace'
    )
    assert kubectl("get pods") == "No resources found in default namespace."


def test_commands_that_patch(kubectl: Kubectl) -> None:
    kubectl.write("m.yaml", node("m1"), pod("q"))
    kubectl("create -f m.yaml")
    assert kubectl("cordon m1") == "node/m1 cordoned"
    assert kubectl("uncordon m1") == "node/m1 uncordoned"
    assert kubectl("taint node m1 a=b:NoSchedule c:NoExecute") == "node/m1 tainted"
    assert kubectl("taint node m1 a-") == "node/m1 untainted"
    assert kubectl("get node m1 -o jsonpath={.spec}") == '{"taints":[{"effect":"NoExecute","key":"c"}]}'
    assert kubectl("annotate node m1 note=first") == "node/m1 annotated"
    assert kubectl("edit node m1", KUBE_EDITOR="sed -i s/first/second/") == "node/m1 edited"
    assert kubectl("get node m1 -o jsonpath={.metadata.annotations.note}") == "second"
    assert kubectl("set image pod/q main=new") == "pod/q image updated"
    assert kubectl("patch pod q --patch", '{"metadata": {"labels": {"a": "b"}}}') == "pod/q patched"
    removal = '[{"op": "remove", "path": "/metadata/labels/a"}]'
    assert kubectl("patch pod q --type=json --patch", removal) == "pod/q patched"
    assert kubectl("patch pod q --type=json --patch", removal, code=1).startswith("The request is invalid")
    assert kubectl(
        "patch pod q --type=merge --subresource=status --patch", '{"status": {"phase": "Failed"}}'
    ) == ("pod/q patched")
    (kubectl.folder / "q.yaml").write_text(kubectl("get pod q -o yaml"))
    before = kubectl.get("pod q")
    assert kubectl("replace -f q.yaml") == "pod/q replaced"
    assert kubectl.get("pod q") == before
    assert kubectl("apply --server-side -f m.yaml", code=1).startswith("Server-side apply not available")
    kubectl.write("wrong.yaml", pod("w", colour="red"))
    assert kubectl("apply -f wrong.yaml", code=1).endswith(
        'strict decoding error: unknown field "spec.colour"'
    )
    assert kubectl("delete pod q --force --grace-period=0").endswith(
        'pod "q" force deleted from default namespace'
    )
    assert kubectl("delete node m1") == 'node "m1" deleted'


def test_another_cluster_by_its_prefix(kubectl: Kubectl) -> None:
    url = str(kubectl.server.client.base_url)
    kubectl.write("node.yaml", node("other"))
    kubectl.use(f"{url}/clusters/team")
    kubectl("create -f node.yaml", "--validate=ignore")
    assert kubectl("label -f node.yaml a=b") == "node/other labeled"
    assert kubectl("apply -f node.yaml").endswith("node/other configured")
    assert kubectl("wait node/other --for=jsonpath={.metadata.name}=other") == "node/other condition met"
    kubectl.use(url)
    assert kubectl("get nodes") == "No resources found"


def test_commands_that_speak_protobuf(kubectl: Kubectl) -> None:
    assert kubectl("create namespace lab") == "namespace/lab created"
    assert kubectl("create priorityclass high --value=7") == "priorityclass.scheduling.k8s.io/high created"
    budget = "poddisruptionbudget.policy/b created"
    assert kubectl("create pdb b --namespace=lab --selector=app=a --min-available=1") == budget
    assert kubectl("get priorityclass high -o jsonpath={.value}") == "7"
    kubectl.write("bound.yaml", node("d1"), pod("d", node="d1", namespace="lab"))
    kubectl("create -f bound.yaml")
    assert kubectl("drain d1 --force --grace-period=0").endswith("node/d1 drained")
    assert kubectl("get pods --namespace=lab") == "No resources found in lab namespace."
