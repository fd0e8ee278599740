"""A KubeSchedulerConfiguration is followed, or refused by name; what is shown is read as the same."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from domain.admission.configuration import read_configuration
from domain.admission.documents import read_documents
from domain.configuration import configuration_of
from domain.envelope import encode_line
from domain.errors import BadRequest, Invalid
from domain.events import SchedulerConfigured
from domain.profile import (
    FILTERS,
    CurvePoint,
    DefaultConstraint,
    Profile,
    ScoredResource,
    Weights,
)
from domain.times import SECOND
from domain.upcast import CURRENT, draft
from ganger_testing.profiles import profiles

Manifest = dict[str, Any]

ROWS = (Path(__file__).parent / "configuration_faults.yaml").read_text()
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def document(text: str) -> Manifest:
    (found,) = read_documents(HEAD + text, "here")
    return found.value


def configured(text: str) -> SchedulerConfigured:
    return read_configuration(document(text)).config


def profile(text: str) -> Profile:
    """The profile of `default-scheduler` whose fields are `text`, in one line."""
    return configured(f"profiles: [{{{text}}}]").profile("default-scheduler")


def args(plugin: str, text: str) -> str:
    return f"profiles: [{{pluginConfig: [{{name: {plugin}, args: {{{text}}}}}]}}]"


# What is followed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", SchedulerConfigured(), id="nothing"),
        pytest.param(
            "podInitialBackoffSeconds: 2\npodMaxBackoffSeconds: 60",
            SchedulerConfigured(initial_backoff_us=2 * SECOND, max_backoff_us=60 * SECOND),
            id="backoff",
        ),
        pytest.param(
            "ganger: {retry: byClock, siblings: lean}",
            SchedulerConfigured(retry="byClock", siblings="lean"),
            id="ganger's own",
        ),
        pytest.param(
            "profiles: [{schedulerName: mine}, {schedulerName: default-scheduler}]",
            SchedulerConfigured(scheduler_names=("mine", "default-scheduler")),
            id="several schedulers",
        ),
        pytest.param("percentageOfNodesToScore: 100", SchedulerConfigured(), id="all nodes"),
        pytest.param("percentageOfNodesToScore: 0", SchedulerConfigured(), id="kube-scheduler's choice"),
        pytest.param("profiles: []\nextenders: []", SchedulerConfigured(), id="empty lists"),
        pytest.param("profiles: null\nganger: null", SchedulerConfigured(), id="null is as absent"),
    ],
)
def test_what_a_document_configures(text: str, expected: SchedulerConfigured) -> None:
    assert configured(text) == expected


def weights(**changed: int) -> Profile:
    return Profile(weights=replace(Weights(), **changed))


def without(*filters: str) -> Profile:
    return Profile(disabled_filters=filters)


NO_POINTS = dict.fromkeys(Weights.__struct_fields__, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "score: {enabled: [{name: NodeAffinity, weight: 7}]}", weights(node_affinity=7), id="weight"
        ),
        pytest.param(
            "score: {enabled: [{name: TaintToleration}]}", weights(taint_toleration=1), id="no weight is 1"
        ),
        pytest.param("score: {disabled: [{name: ImageLocality}]}", weights(image_locality=0), id="score off"),
        pytest.param("filter: {disabled: [{name: NodePorts}]}", without("NodePorts"), id="filter off"),
        pytest.param(
            "multiPoint: {disabled: [{name: NodeAffinity}]}",
            Profile(disabled_filters=("NodeAffinity",), weights=Weights(node_affinity=0)),
            id="off at all points",
        ),
        pytest.param(
            "multiPoint: {disabled: [{name: NodeAffinity}]}, score: {enabled: [{name: NodeAffinity}]}",
            Profile(disabled_filters=("NodeAffinity",), weights=Weights(node_affinity=1)),
            id="a point goes before multiPoint",
        ),
        pytest.param(
            "multiPoint: {enabled: [{name: NodeAffinity, weight: 9}]}",
            weights(node_affinity=9),
            id="multiPoint weight",
        ),
        pytest.param(
            "score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit, weight: 3}]}",
            Profile(weights=Weights(**NO_POINTS | {"node_resources_fit": 3})),
            id="only one score",
        ),
        pytest.param(
            "filter: {disabled: [{name: '*'}], enabled: [{name: NodePorts}]}",
            without(*(name for name in FILTERS if name != "NodePorts")),
            id="only one filter",
        ),
        pytest.param(
            "preFilter: {disabled: [{name: NodePorts}]}, filter: {disabled: [{name: NodePorts}]}",
            without("NodePorts"),
            id="what prepares a filter goes with it",
        ),
        pytest.param("filter: {enabled: [{name: VolumeBinding}]}", Profile(), id="volumes"),
        pytest.param("bind: {enabled: [{name: DefaultBinder}]}", Profile(), id="what is always on"),
    ],
)
def test_which_plugins_are_on(text: str, expected: Profile) -> None:
    assert profile(f"plugins: {{{text}}}") == expected


@pytest.mark.parametrize(
    ("plugin", "text", "expected"),
    [
        pytest.param("NodeResourcesFit", "", Profile(), id="no arguments"),
        pytest.param(
            "NodeResourcesFit",
            "kind: NodeResourcesFitArgs, apiVersion: kubescheduler.config.k8s.io/v1,"
            " scoringStrategy: {type: MostAllocated}",
            Profile(strategy="MostAllocated"),
            id="strategy",
        ),
        pytest.param(
            "NodeResourcesFit",
            "scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, weight: 5}, {name: memory}]}",
            Profile(resources=(ScoredResource("cpu", 5), ScoredResource("memory"))),
            id="resources",
        ),
        pytest.param(
            "NodeResourcesFit",
            "scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio:"
            " {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}}",
            Profile(
                strategy="RequestedToCapacityRatio",
                curve=(CurvePoint(utilization=0, score=0), CurvePoint(utilization=100, score=10)),
            ),
            id="ratio",
        ),
        pytest.param(
            "InterPodAffinity", "hardPodAffinityWeight: 0", Profile(hard_pod_affinity_weight=0), id="affinity"
        ),
        pytest.param(
            "PodTopologySpread",
            "defaultingType: List, defaultConstraints:"
            " [{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]",
            Profile(
                defaulting_type="List",
                default_constraints=(
                    DefaultConstraint(max_skew=2, topology_key="zone", when_unsatisfiable="ScheduleAnyway"),
                ),
            ),
            id="default constraints",
        ),
        pytest.param(
            "NodeResourcesBalancedAllocation",
            "resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]",
            Profile(),
            id="balance as it is",
        ),
    ],
)
def test_what_arguments_mean(plugin: str, text: str, expected: Profile) -> None:
    assert configured(args(plugin, text)).profile("default-scheduler") == expected


def test_each_scheduler_has_its_profile() -> None:
    config = configured(
        "profiles: [{schedulerName: default-scheduler}, {schedulerName: b, plugins: {filter: {disabled:"
        " [{name: NodeName}]}}}, {schedulerName: c}]"
    )
    assert config.scheduler_names == ("default-scheduler", "b", "c")
    assert [config.profile(name) for name in ("default-scheduler", "b", "c", "d")] == [
        Profile(), without("NodeName"), Profile(), Profile(),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "note"),
    [
        pytest.param(
            "parallelism: 16", "parallelism has no effect in ganger: all nodes are looked at at once", id="p"
        ),
        pytest.param(
            "leaderElection: {leaderElect: true}",
            "leaderElection has no effect in ganger: the lease of a cluster is in its store",
            id="l",
        ),
        pytest.param(
            "clientConnection: {kubeconfig: /etc/k}",
            "clientConnection has no effect in ganger: there is no API server to connect to",
            id="c",
        ),
        pytest.param(
            args("DefaultPreemption", "minCandidateNodesAbsolute: 5"),
            "arguments of DefaultPreemption have no effect in ganger",
            id="preemption",
        ),
        pytest.param(
            args("VolumeBinding", "bindTimeoutSeconds: 5"),
            "arguments of VolumeBinding have no effect in ganger",
            id="volumes",
        ),
        pytest.param(
            args(
                "PodTopologySpread",
                "defaultingType: List, defaultConstraints:"
                " [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]",
            ),
            "defaultConstraints have no effect in ganger: no Service or set selects a Pod",
            id="default constraints",
        ),
    ],
)
def test_what_has_no_effect_is_told(text: str, note: str) -> None:
    assert read_configuration(document(text)).notes == (note,)


# What is refused


def refused() -> list[Any]:
    """The rows of `configuration_faults.yaml`, as documents with their faults."""
    (rows,) = read_documents(f"rows:\n{ROWS}", "configuration_faults.yaml")
    head = document("")
    return [
        pytest.param(head | row["configuration"], row["faults"], id=row["name"]) for row in rows.value["rows"]
    ]


@pytest.mark.parametrize(("written", "expected"), refused())
def test_every_fault_is_told(written: Manifest, expected: list[str]) -> None:
    with pytest.raises(Invalid) as refusal:
        read_configuration(written)
    assert [str(cause) for cause in refusal.value.causes] == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("extenders: [{}]", "extenders: Forbidden: ganger calls no extenders", id="one"),
        pytest.param(
            "extenders: [{}]\ncolour: red",
            "[colour: Forbidden: unknown field, extenders: Forbidden: ganger calls no extenders]",
            id="two",
        ),
    ],
)
def test_faults_are_one_message(text: str, told: str) -> None:
    with pytest.raises(Invalid) as refusal:
        configured(text)
    assert str(refusal.value) == f"KubeSchedulerConfiguration is invalid: {told}"


@pytest.mark.parametrize("version", ["v1", "kubescheduler.config.k8s.io/v1beta3"])
def test_another_kind_is_refused(version: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read_configuration({"apiVersion": version, "kind": "KubeSchedulerConfiguration"})
    assert str(refused.value) == (
        f'no matches for kind "KubeSchedulerConfiguration" in version "{version}" (a configuration is a'
        " KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1)"
    )


FIELDS = (
    "profiles", "schedulerName", "plugins", "multiPoint", "filter", "preFilter", "score", "postFilter",
    "enabled", "disabled", "name", "weight", "pluginConfig", "args", "scoringStrategy", "type", "resources",
    "requestedToCapacityRatio", "shape", "utilization", "defaultConstraints", "hardPodAffinityWeight",
    "extenders", "ganger", "retry", "parallelism", "podMaxBackoffSeconds", "leaderElection", "addedAffinity",
)  # fmt: skip
WORDS = ("NodeResourcesFit", "PodTopologySpread", "InterPodAffinity", "NodeAffinity", "*", "", "cpu", "List")


def things() -> st.SearchStrategy[Any]:
    """JSON made of the words of configurations."""
    leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS)
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=5)
        ),
        max_leaves=20,
    )


@given(st.dictionaries(st.sampled_from(FIELDS), things(), max_size=5))
def test_whatever_is_written_is_taken_or_refused(written: Manifest) -> None:
    try:
        read = read_configuration(document("") | written)
    except Invalid:
        return
    assert read_configuration(configuration_of(read.config)).config == read.config


# There and back


@st.composite
def configurations(draw: st.DrawFn) -> SchedulerConfigured:
    """Configurations that can be written down: a curve belongs to one strategy only."""
    several = draw(st.lists(profiles(), min_size=1, max_size=3))
    return SchedulerConfigured(
        initial_backoff_us=draw(st.integers(1, 10)) * SECOND,
        max_backoff_us=draw(st.integers(10, 1000)) * SECOND,
        profiles=tuple(
            each if each.strategy == "RequestedToCapacityRatio" else replace(each, curve=())
            for each in several
        ),
        retry=draw(st.sampled_from(["onChange", "byClock"])),
        scheduler_names=tuple(f"s{number}" for number in range(len(several))),
        siblings=draw(st.sampled_from(["greedy", "lean"])),
    )


@given(configurations())
def test_what_is_shown_is_read_as_the_same(config: SchedulerConfigured) -> None:
    shown = configuration_of(config)
    read = read_configuration(shown)
    assert read.notes == ()
    assert configuration_of(read.config) == shown
    line = encode_line(draft(read.config, actor="user"), position=1, batch=1, at=0)
    assert CURRENT.event("SchedulerConfigured", line).payload == read.config


def test_the_default_spelt_out_takes_no_bytes() -> None:
    spelt_out = configuration_of(SchedulerConfigured())
    assert draft(read_configuration(spelt_out).config, actor="user").payload == b"{}"


def test_bytes_hold_what_is_not_at_its_default() -> None:
    config = configured(
        "podMaxBackoffSeconds: 10\nprofiles: [{schedulerName: a, plugins: {filter: {disabled: [{name:"
        " NodeName}]}, score: {enabled: [{name: NodeAffinity, weight: 500}]}}}, {schedulerName: b}]"
    )
    assert draft(config, actor="user").payload == (
        b'{"profiles":[{"disabledFilters":["NodeName"],"weights":{"nodeAffinity":500}}],'
        b'"schedulerNames":["a","b"]}'
    )
