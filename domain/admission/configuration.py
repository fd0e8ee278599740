"""A KubeSchedulerConfiguration as it is written, read for ganger: followed, or refused by name.

What ganger does by itself in another way is taken with a note; what would have to change a decision
and does not is a fault. Source: kube-scheduler 1.37, pkg/scheduler/apis/config.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from domain.admission import faults
from domain.admission.kube_scheduler import (
    Ganger,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    PluginConfig,
    Plugins,
)
from domain.admission.plugin_args import READERS, Fields
from domain.admission.plugins import IDLE, KNOWN, NOT_KNOWN, chosen, plugin_faults
from domain.admission.structs import Opaque, Struct, unknown_fields
from domain.configuration import CONFIGURATION
from domain.errors import BadRequest, Cause, Invalid
from domain.events import SchedulerConfigured
from domain.profile import DEFAULT_PROFILE, DEFAULT_SCHEDULER, Profile, Weights
from domain.times import SECOND

_KIND, _API_VERSION = CONFIGURATION.name, CONFIGURATION.api_version

_RETRY = ("onChange", "byClock")
_SIBLINGS = ("greedy", "lean")
_LONGEST_BACKOFF = 2**31 - 1
"""Seconds; times are 64 bits of microseconds, and large groups wait many times as long."""

_IDLE_FIELDS = {
    "parallelism": "all nodes are looked at at once",
    "leader_election": "the lease of a cluster is in its store",
    "client_connection": "there is no API server to connect to",
    "enable_profiling": "there is no such endpoint",
    "enable_contention_profiling": "there is no such endpoint",
    "delay_cache_until_active": "there is no cache to fill",
}

_TYPES = {
    "bool_type": "must be true or false",
    "dict_type": "must be an object",
    "int_from_float": "must be a whole number",
    "int_type": "must be a whole number",
    "list_type": "must be a list",
    "model_type": "must be an object",
    "string_type": "must be a string",
}
"""What pydantic finds wrong about a type, as a rule."""

_plain = TypeAdapter[Any](Opaque)

S = TypeVar("S", bound=Struct)
T = TypeVar("T", bound=msgspec.Struct)


@dataclass(frozen=True)
class Configuration:
    """What a document configures, and notes on what of it has no effect here."""

    config: SchedulerConfigured
    notes: tuple[str, ...]


def read_configuration(document: Mapping[str, Any]) -> Configuration:
    """What `document` configures; whatever it leaves out has its default.

    Raises BadRequest if it is not of the kind, and Invalid with every fault at once.
    """
    written = _plain.validate_python(document)
    if written.get("apiVersion") != _API_VERSION or written.get("kind") != _KIND:
        raise BadRequest(
            f'no matches for kind "{written.get("kind", "")}" in version "{written.get("apiVersion", "")}" '
            f"(a configuration is a {_KIND} of {_API_VERSION})"
        )
    found: list[Cause] = []
    notes: list[str] = []
    read = _typed(KubeSchedulerConfiguration, written, "", found)
    if read is not None:
        config = _Reading(found, notes).configuration(read)
        if not found:
            return Configuration(config, tuple(notes))
    raise Invalid(
        f"{_KIND} is invalid: {faults.listed(found)}", group=CONFIGURATION.group, kind=_KIND, causes=found
    )


class _Reading:
    """One document being read: what is wrong goes to `found`, what has no effect to `notes`."""

    def __init__(self, found: list[Cause], notes: list[str]) -> None:
        self.found = found
        self.notes = notes

    def configuration(self, read: KubeSchedulerConfiguration) -> SchedulerConfigured:
        self.found += _configuration_faults(read)
        for field, why in _IDLE_FIELDS.items():
            if getattr(read, field) is not None:
                alias = type(read).model_fields[field].alias
                self.notes.append(f"{alias} has no effect in ganger: {why}")
        written = read.profiles or [KubeSchedulerProfile()]
        profiles = [self.profile(each, f"profiles[{index}]") for index, each in enumerate(written)]
        while profiles and profiles[-1] == DEFAULT_PROFILE:
            profiles.pop()
        initial, longest = _backoffs(read)
        own = read.ganger or Ganger()
        return _sparse(
            SchedulerConfigured,
            initial_backoff_us=initial * SECOND,
            max_backoff_us=longest * SECOND,
            profiles=tuple(profiles),
            retry=own.retry or _RETRY[0],
            scheduler_names=tuple(each.scheduler_name or DEFAULT_SCHEDULER for each in written),
            siblings=own.siblings or _SIBLINGS[0],
        )

    def profile(self, read: KubeSchedulerProfile, path: str) -> Profile:
        plugins = read.plugins or Plugins()
        self.found += plugin_faults(plugins, f"{path}.plugins")
        fields: Fields = {}
        seen = set()
        for index, each in enumerate(read.plugin_config or ()):
            where = f"{path}.pluginConfig[{index}]"
            fields |= self.arguments(each, where)
            if each.name in seen:
                self.found.append(faults.duplicate(f"{where}.name", each.name))
            seen.add(each.name)
        disabled, weights = chosen(plugins)
        return _sparse(Profile, disabled_filters=disabled, weights=_sparse(Weights, **weights), **fields)

    def arguments(self, read: PluginConfig, path: str) -> Fields:
        """What the arguments of a plugin say of its profile; nothing if they are faulty."""
        name, args = read.name or "", read.args or {}
        if name not in KNOWN:
            self.found.append(faults.invalid(f"{path}.name", name, NOT_KNOWN))
            return {}
        if name in IDLE or name == "DefaultPreemption":
            if args:
                self.notes.append(f"arguments of {name} have no effect in ganger")
            return {}
        if name not in READERS:
            if args:
                self.found.append(faults.forbidden(f"{path}.args", f"{name} takes no arguments"))
            return {}
        struct, meaning, check = READERS[name]
        typed = _typed(struct, args, f"{path}.args", self.found)
        if typed is None:
            return {}
        named = (("kind", typed.kind, f"{name}Args"), ("apiVersion", typed.api_version, _API_VERSION))
        wrong = [
            faults.invalid(f"{path}.args.{field}", value, f"must be {expected}")
            for field, value, expected in named
            if value not in (None, expected)
        ]
        wrong += check(typed, f"{path}.args")
        self.found += wrong
        if name == "PodTopologySpread" and args.get("defaultConstraints"):
            self.notes.append("defaultConstraints have no effect in ganger: no Service or set selects a Pod")
        return {} if wrong else meaning(typed)


def _configuration_faults(read: KubeSchedulerConfiguration) -> Iterator[Cause]:
    if read.parallelism is not None and read.parallelism <= 0:
        yield faults.invalid("parallelism", read.parallelism, "should be an integer value greater than zero")
    yield from _percentage_faults(read, "")
    initial, longest = _backoffs(read)
    if initial <= 0:
        yield faults.invalid("podInitialBackoffSeconds", initial, "must be greater than 0")
    if longest > _LONGEST_BACKOFF:
        yield faults.invalid("podMaxBackoffSeconds", longest, f"must be at most {_LONGEST_BACKOFF}")
    if longest < initial:
        rule = "must be greater than or equal to podInitialBackoffSeconds"
        yield faults.invalid("podMaxBackoffSeconds", longest, rule)
    if read.extenders:
        yield faults.forbidden("extenders", "ganger calls no extenders")
    yield from _scheduler_faults(read.profiles or [])
    own = read.ganger or Ganger()
    if own.retry not in (None, *_RETRY):
        yield faults.not_supported("ganger.retry", str(own.retry), _RETRY)
    if own.siblings not in (None, *_SIBLINGS):
        yield faults.not_supported("ganger.siblings", str(own.siblings), _SIBLINGS)


def _scheduler_faults(profiles: list[KubeSchedulerProfile]) -> Iterator[Cause]:
    seen = set()
    for index, profile in enumerate(profiles):
        path = f"profiles[{index}]"
        yield from _percentage_faults(profile, f"{path}.")
        name = profile.scheduler_name
        if not name and (name is not None or len(profiles) > 1):
            yield faults.required(f"{path}.schedulerName")
        elif name in seen:
            yield faults.duplicate(f"{path}.schedulerName", name)
        seen.add(name)


def _percentage_faults(read: KubeSchedulerConfiguration | KubeSchedulerProfile, path: str) -> Iterator[Cause]:
    for field, what, given in (
        ("percentageOfNodesToScore", "nodes", read.percentage_of_nodes_to_score),
        ("percentageOfPlacementsToScore", "placements", read.percentage_of_placements_to_score),
    ):
        if given not in (None, 0, 100):
            yield faults.invalid(f"{path}{field}", given, f"must be 0 or 100: ganger looks at all {what}")


def _backoffs(read: KubeSchedulerConfiguration) -> tuple[int, int]:
    """The first backoff and the longest one, in seconds."""
    initial, longest = read.pod_initial_backoff_seconds, read.pod_max_backoff_seconds
    return (1 if initial is None else initial, 10 if longest is None else longest)


def _typed(struct: type[S], value: Any, path: str, found: list[Cause]) -> S | None:
    """`value` as a `struct`; None, with the faults in `found`, where types are wrong."""
    try:
        typed = struct.model_validate(value)
    except ValidationError as error:
        found += [_type_fault(fault, path) for fault in error.errors(include_url=False)]
        return None
    at = f"{path}." if path else ""
    found += [faults.forbidden(f"{at}{field}", "unknown field") for field in sorted(unknown_fields(typed))]
    return typed


def _type_fault(fault: ErrorDetails, path: str) -> Cause:
    for step in fault["loc"]:
        path += f"[{step}]" if isinstance(step, int) else f".{step}"
    rule = _TYPES.get(fault["type"]) or fault["msg"].replace("Input should be", "must be")
    return faults.invalid(path.removeprefix("."), fault["input"], rule)


def _sparse(struct: type[T], **fields: Any) -> T:
    """A `struct` in which what is at its default is the default itself, so that it is left out of bytes."""
    defaults = {field.name: field.default for field in msgspec.structs.fields(struct)}
    return struct(**{name: value for name, value in fields.items() if value != defaults[name]})
