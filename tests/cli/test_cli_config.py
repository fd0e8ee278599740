"""config: what is in force is shown, a file of kube-scheduler replaces it as a whole or not at all."""

import json
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from build import node
from cli_world import Book, Ganger, Golden
from store.engine import open_store
from store.log import EventLog

PACKED = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: true}
podMaxBackoffSeconds: 60
profiles:
  - schedulerName: default-scheduler
  - schedulerName: packed
    plugins:
      filter:
        disabled: [{name: NodePorts}]
      score:
        disabled: [{name: NodeResourcesBalancedAllocation}]
        enabled: [{name: NodeResourcesFit, weight: 5}]
    pluginConfig:
      - name: NodeResourcesFit
        args:
          scoringStrategy:
            type: RequestedToCapacityRatio
            resources: [{name: nvidia.com/gpu, weight: 3}, {name: cpu}]
            requestedToCapacityRatio:
              shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]
ganger: {siblings: lean}
"""
NOTE = "Warning: leaderElection has no effect in ganger: the lease of a cluster is in its store\n"


def test_config_show(book: Book, ganger: Ganger, golden: Golden) -> None:
    shown = ganger.out("config", "show")
    golden("config", shown)
    assert ganger.out("config") == shown
    assert ganger.out("config", "show", "-o", "yaml") == shown
    assert json.loads(ganger.out("config", "show", "-o", "json")) == yaml.safe_load(shown)


@pytest.mark.parametrize(
    "words",
    [(), ("-o", "json"), ("--at", "0"), ("-o", "yaml", "--at", "5")],
    ids=" ".join,
)
def test_config_alone_is_show(book: Book, ganger: Ganger, words: tuple[str, ...]) -> None:
    assert ganger.out("config", *words) == ganger.out("config", "show", *words)


def test_config_set(book: Book, ganger: Ganger, golden: Golden, folder: Path) -> None:
    (folder / "packed.yaml").write_text(PACKED)
    before = ganger.out("config", "show")

    assert ganger("config", "set", "-f", "packed.yaml") == (
        0,
        "kubeschedulerconfiguration configured\n",
        NOTE,
    )
    golden("config-packed", ganger.out("config", "show"))
    assert ganger("config", "set", "-f", "packed.yaml") == (0, "kubeschedulerconfiguration unchanged\n", NOTE)
    assert ganger.out("config", "show", "--at", book.position) == before


def test_what_is_shown_can_be_set(book: Book, ganger: Ganger) -> None:
    default = ganger.out("config", "show")
    ganger("config", "set", "-f", "-", stdin=PACKED)
    packed = ganger.out("config", "show", "-o", "json")

    unchanged = "kubeschedulerconfiguration unchanged\n"
    assert ganger.out("config", "set", "-f", "-", stdin=packed) == unchanged
    assert ganger.out("config", "set", "-f", "-", stdin=default) == "kubeschedulerconfiguration configured\n"
    assert ganger.out("config", "show") == default


def test_a_dry_run_sets_nothing(book: Book, ganger: Ganger) -> None:
    before = ganger.out("config")

    result = ganger("config", "set", "-f", "-", "--dry-run", stdin=PACKED)
    assert result == (0, "kubeschedulerconfiguration configured (dry run)\n", NOTE)
    assert ganger.out("config") == before


def test_the_first_event_of_a_cluster_may_be_its_configuration(ganger: Ganger) -> None:
    assert ganger.error("config") == (
        "error: there is no store at ganger.db: check the path, or make one with `ganger apply`"
    )
    assert ganger("config", "set", "-f", "-", stdin=PACKED).code == 0
    assert "podMaxBackoffSeconds: 60\n" in ganger.out("config")


def test_a_refusal_names_the_place_and_every_fault_and_sets_nothing(book: Book, ganger: Ganger) -> None:
    wrong = f"{PACKED}percentageOfNodesToScore: 50\nextenders: [{{urlPrefix: 'http://x'}}]\n"

    assert ganger.error("config", "set", "-f", "-", stdin=wrong) == (
        "error: standard input, document 1, line 2: KubeSchedulerConfiguration is invalid: "
        "[percentageOfNodesToScore: Invalid value: 50: must be 0 or 100: ganger looks at all nodes, "
        "extenders: Forbidden: ganger calls no extenders]"
    )
    with closing(open_store("ganger.db", create=False)) as store:
        assert str(EventLog(store, "default").head().position) == book.position


def test_a_configuration_is_one_document(book: Book, ganger: Ganger) -> None:
    two = yaml.safe_dump_all([yaml.safe_load(PACKED), node("n3")])
    assert ganger.error("config", "set", "-f", "-", stdin=two) == (
        "error: -: a configuration is one document, there are 2"
    )
