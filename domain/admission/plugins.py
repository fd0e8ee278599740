"""Which plugins of a profile are on, and with which weight.

Enabled goes before disabled, and an extension point before `multiPoint`, as in kube-scheduler 1.37. The
order of plugins is always that of the default profile.
"""

from collections.abc import Iterator
from typing import NamedTuple

from pydantic.alias_generators import to_camel

from domain.admission import faults
from domain.admission.kube_scheduler import Plugin, Plugins, PluginSet
from domain.errors import Cause
from domain.profile import FILTERS, SCORES, Weights

_ALL = "*"
_MULTI_POINT = "multiPoint"

_ONLY_FILTERS = ("preFilter", "filter")
_ONLY_SCORES = ("preScore", "score")
_CHOSEN = dict.fromkeys(FILTERS, _ONLY_FILTERS) | {
    name: (*_ONLY_FILTERS, *_ONLY_SCORES) if name in FILTERS else _ONLY_SCORES for name in SCORES
}
"""The plugins that can be switched, with the points that they extend."""

_ALWAYS = {
    "SchedulingGates": ("preEnqueue",),
    "PrioritySort": ("queueSort",),
    "GangScheduling": ("preEnqueue", "placementFeasible"),
    "TopologyPlacementGenerator": ("placementGenerate",),
    "PodGroupPodsCount": ("placementScore",),
    "DefaultPreemption": ("postFilter", "podGroupPostFilter"),
    "DefaultBinder": ("bind",),
}
"""The plugins that ganger cannot go without, with the points at which that would be asked."""

IDLE = (
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "DynamicResources",
    "NodeDeclaredFeatures",
)
"""The plugins that are about what does not exist in ganger: on or off is the same."""

KNOWN = frozenset((*_CHOSEN, *_ALWAYS, *IDLE))
NOT_KNOWN = "is no plugin of kube-scheduler 1.37's default profile, and ganger runs no others"


class _State(NamedTuple):
    """Whether a plugin is on at a point, what it weighs, and the point that says so."""

    on: bool
    weight: int | None
    said_by: str | None


class Choice(NamedTuple):
    """What a profile makes of the default plugins."""

    disabled_filters: tuple[str, ...]
    weights: dict[str, int]


def chosen(plugins: Plugins) -> Choice:
    """The filters that are off and the fields of Weights; faulty `plugins` give no certain answer."""
    defaults = Weights()
    weights = {}
    for name, field in SCORES.items():
        state = _state(plugins, "score", name)
        default = getattr(defaults, field) if state.said_by is None else state.weight or 1
        weights[field] = default if state.on else 0
    return Choice(tuple(name for name in FILTERS if not _state(plugins, "filter", name).on), weights)


def plugin_faults(plugins: Plugins, path: str) -> Iterator[Cause]:
    """Everything that ganger cannot do, or that makes no sense, in `plugins` at `path`."""
    for point, given in _sets(plugins).items():
        yield from _name_faults(given, point, f"{path}.{point}")
    for name, points in _ALWAYS.items():
        off = [state for point in points if not (state := _state(plugins, point, name)).on]
        if off:
            yield faults.forbidden(
                f"{path}.{off[0].said_by}.disabled", f"{name} cannot be disabled: ganger always runs it"
            )
    for name, points in _CHOSEN.items():
        for before, point in (_ONLY_FILTERS, _ONLY_SCORES):
            if before in points and _on_without(plugins, point, before, name):
                yield faults.forbidden(
                    f"{path}.{before}.disabled",
                    f"{name} cannot be disabled here alone: disable it at {point}, too",
                )


def _on_without(plugins: Plugins, point: str, before: str, name: str) -> bool:
    """Whether `name` is on at `point` but off at the point that prepares it."""
    prepared = _state(plugins, before, name)
    return not prepared.on and prepared.said_by == before and _state(plugins, point, name).on


def _name_faults(given: PluginSet, point: str, path: str) -> Iterator[Cause]:
    seen = set()
    for index, plugin in enumerate(given.enabled or ()):
        where = f"{path}.enabled[{index}]"
        yield from _enabled_faults(plugin, point, where)
        if plugin.name in seen:
            yield faults.duplicate(f"{where}.name", plugin.name)
        seen.add(plugin.name)
    for index, plugin in enumerate(given.disabled or ()):
        if plugin.name != _ALL and plugin.name not in KNOWN:
            yield faults.invalid(f"{path}.disabled[{index}].name", plugin.name or "", NOT_KNOWN)


def _enabled_faults(plugin: Plugin, point: str, path: str) -> Iterator[Cause]:
    name, weight = plugin.name or "", plugin.weight or 0
    if name not in KNOWN:
        yield faults.invalid(f"{path}.name", name, NOT_KNOWN)
    elif name in _CHOSEN and point not in (_MULTI_POINT, *_CHOSEN[name]):
        yield faults.invalid(f"{path}.name", name, f"does not extend {point}")
    if weight < 0:
        yield faults.invalid(f"{path}.weight", weight, "must be at least 1")
    elif name == "PodGroupPodsCount" and weight > 1:
        yield faults.invalid(f"{path}.weight", weight, "must be 1: placements have no other score")


def _state(plugins: Plugins, point: str, name: str) -> _State:
    sets = _sets(plugins)
    for where in (point, _MULTI_POINT):
        given = sets.get(where)
        if given is None:
            continue
        for plugin in given.enabled or ():
            if plugin.name == name:
                return _State(on=True, weight=plugin.weight, said_by=where)
        if any(plugin.name in (name, _ALL) for plugin in given.disabled or ()):
            return _State(on=False, weight=None, said_by=where)
    return _State(on=True, weight=None, said_by=None)


def _sets(plugins: Plugins) -> dict[str, PluginSet]:
    """The sets that are given, by point."""
    sets = {to_camel(field): getattr(plugins, field) for field in type(plugins).model_fields}
    return {point: given for point, given in sets.items() if given is not None}
