"""Smaller requests, for which Pods are made anew."""

from collections.abc import Iterator, Sequence
from functools import partial

from domain.amounts import quantity_of
from domain.explaining.wording import pods_named
from domain.objects import Pod
from domain.quantities import parse_quantity
from domain.resources import CPU, EPHEMERAL_STORAGE, MEMORY
from domain.whathelps.changes import Candidate, Manifest, Proved, unchanged
from domain.whathelps.proving import Prover
from domain.whathelps.scene import Scene

_MOST_SHAPES = 4
_MEBI = 2**20
_STEPS = {CPU: (1000, 100, 10), MEMORY: (1024 * _MEBI, 64 * _MEBI, _MEBI), EPHEMERAL_STORAGE: (_MEBI,)}
"""What requests are lowered by, base units: the largest step of which they have four."""


def lower_requests(scene: Scene, prover: Prover) -> Iterator[Proved]:
    """The largest request below the present one that helps, of one resource of the Pods of one shape.

    None where these Pods made anew as they are, and so tried last, help as well.
    """
    for shape in scene.shapes[:_MOST_SHAPES]:
        pods = [pod for pod in scene.waiting if pod.spec.shape == shape]
        for resource, amount in shape.requests:
            asked, step = int(amount), _step(resource, int(amount))
            if not all(_is_plain(scene, pod, resource, asked) for pod in pods):
                continue
            found = prover.least((asked - 1) // step, partial(_lower, scene, pods, resource, asked, step))
            if found is not None:
                if not prover.starts_with((scene.pods_anew(pods, unchanged),)):
                    yield found[1]
                return


def _step(resource: str, asked: int) -> int:
    return next((step for step in _STEPS.get(resource, ()) if asked >= 4 * step), 1)


def _is_plain(scene: Scene, pod: Pod, resource: str, asked: int) -> bool:
    """Whether the whole request for `resource` is that of one container."""
    manifest = scene.stored("Pod", pod.key)
    spec = manifest["spec"]
    if spec.get("initContainers") or spec.get("overhead") or spec.get("resources"):
        return False
    asking = _asking(manifest, resource)
    factor = 1000 if resource == CPU else 1
    return asking is not None and parse_quantity(asking["requests"][resource]) * factor == asked


def _asking(pod: Manifest, resource: str) -> Manifest | None:
    """The resources of the one container that asks for `resource`; None if there is not just one."""
    asking = [
        container["resources"]
        for container in pod["spec"]["containers"]
        if resource in ((container.get("resources") or {}).get("requests") or {})
    ]
    return asking[0] if len(asking) == 1 else None


def _lower(scene: Scene, pods: Sequence[Pod], resource: str, asked: int, step: int, by: int) -> Candidate:
    before, after = quantity_of(resource, asked), quantity_of(resource, asked - by * step)

    def lower(pod: Manifest) -> None:
        asking = _asking(pod, resource)
        assert asking is not None, "looked at before"
        asking["requests"][resource] = after
        if resource in (asking.get("limits") or {}) and not _may_exceed(resource):
            asking["limits"][resource] = after

    return Candidate(
        kind="lowerRequest",
        text=f"create {pods_named(pods)} anew with a request of {after} {resource} instead of {before}",
        edits=(scene.pods_anew(pods, lower),),
        subjects=tuple(pod.subject for pod in pods),
        before=f"{before} {resource}",
        after=f"{after} {resource}",
    )


def _may_exceed(resource: str) -> bool:
    """Whether a limit may be more than the request."""
    return resource in _STEPS
