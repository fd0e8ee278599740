"""What a manifest may ask for and ganger does not do: said in a warning, never silently."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from domain.admission.kinds import POD, POD_GROUP, Kind
from domain.manifests import RUN_SECONDS, can_run_for

_VOLUMES = "ignored by the scheduler; volumes and their binding are out of scope"
_CLAIMS = "ignored by the scheduler; dynamic resource allocation is out of scope"
_RUNTIME = "ignored by the scheduler, which has no RuntimeClasses; overhead and nodeSelector count"

_NOTES: Mapping[str, Sequence[tuple[str, str]]] = {
    POD.name: (
        ("spec.volumes.persistentVolumeClaim", _VOLUMES),
        ("spec.volumes.ephemeral", _VOLUMES),
        ("spec.volumes.csi", _VOLUMES),
        ("spec.runtimeClassName", _RUNTIME),
        ("spec.resourceClaims", _CLAIMS),
    ),
    POD_GROUP.name: (("spec.resourceClaims", _CLAIMS),),
}


_STEPS = {name: tuple((tuple(path.split(".")), text) for path, text in rows) for name, rows in _NOTES.items()}


def notes(kind: Kind, manifest: Mapping[str, Any]) -> list[str]:
    """A warning for each field of `manifest` that does not have the effect it asks for."""
    spec = manifest.get("spec") or {}
    found_in_spec = [
        f"{found}: {text}"
        for steps, text in _STEPS.get(kind.name, ())
        if steps[1] in spec
        for found in _occurrences(spec[steps[1]], steps[2:], f"spec.{steps[1]}")
    ]
    return [*_run_time_notes(kind, manifest), *found_in_spec]


def _run_time_notes(kind: Kind, manifest: Mapping[str, Any]) -> list[str]:
    seconds = (manifest["metadata"].get("annotations") or {}).get(RUN_SECONDS)
    if kind is not POD or seconds is None or can_run_for(seconds):
        return []
    path = f"metadata.annotations[{RUN_SECONDS}]"
    return [f'{path}: "{seconds}" is ignored: must be a whole number of seconds of at most ten digits']


def _occurrences(value: Any, steps: Sequence[str], path: str) -> Iterator[str]:
    if isinstance(value, list) and steps:
        for index, item in enumerate(value):
            yield from _occurrences(item, steps, f"{path}[{index}]")
    elif not steps:
        if any(value.values()) if isinstance(value, dict) else value:
            yield path
    elif isinstance(value, dict) and steps[0] in value:
        yield from _occurrences(value[steps[0]], steps[1:], f"{path}.{steps[0]}")
