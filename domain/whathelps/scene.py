"""What a search for help looks at, and how the objects that wait could be changed or made anew."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from domain.objects import Group, Pod
from domain.queue import Entity
from domain.shapes import PodShape
from domain.state import State
from domain.whathelps.changes import Manifest, Renew, Rewrite, as_asked


@dataclass(frozen=True)
class Scene:
    """A State, the entity in it that waits, and the manifests of its objects.

    `stored` gives the object of a kind and key as admission would see it.
    """

    state: State
    entity: Entity
    stored: Callable[[str, str], Manifest]

    @cached_property
    def waiting(self) -> list[Pod]:
        """The Pods of the entity that wait, without those that are being deleted, oldest first."""
        return [pod for pod in self.state.pending_of(self.entity) if pod.deletion is None]

    @cached_property
    def leaves(self) -> list[str]:
        """The PodGroups of the entity by key, which need not exist."""
        return [] if self.entity.is_pod else self.state.leaves_of(self.entity.kind, self.entity.key)

    @cached_property
    def groups(self) -> list[Group]:
        """The groups of the entity, parents first; none for a single Pod or below a missing group."""
        return self.groups_as(self.entity.name)

    def groups_as(self, subject: str) -> list[Group]:
        """The groups of the entity `subject`, parents first; none for a Pod or below a missing group."""
        root = None if subject.startswith("Pod/") else self.state.group_of(subject)
        return [] if root is None else list(self.state.forest.tree(root).groups())

    @property
    def shapes(self) -> list[PodShape]:
        """The distinct shapes of the Pods that wait, in order."""
        return list(dict.fromkeys(pod.spec.shape for pod in self.waiting))

    def is_own(self, pod: Pod) -> bool:
        """Whether `pod` belongs to what waits."""
        return self.state.waits_as(pod) == self.entity.name

    def pods_anew(self, pods: Iterable[Pod], rewrite: Rewrite) -> Renew:
        """The edit that deletes `pods` and creates them again with `rewrite` done to them."""
        return Renew(tuple(pod.key for pod in pods), (), rewrite)

    def all_anew(self, rewrite: Rewrite) -> Renew | None:
        """The edit that deletes all of the entity and creates it again, with `rewrite` done to every part.

        None where that would take Pods off their nodes.
        """
        if any(
            self.state.members_of(leaf).bound or self.state.members_of(leaf).foreign for leaf in self.leaves
        ):
            return None
        pods = tuple(pod.key for pod in self.state.pending_of(self.entity))
        return Renew(pods, tuple((group.kind, group.key) for group in self.groups), rewrite)

    def copy_of(self, kind: str, key: str, name: str) -> Manifest:
        """The manifest of a new object called `name` that is like an existing one, on no node."""
        made = as_asked(self.stored(kind, key))
        made["metadata"]["name"] = name
        made["spec"].pop("nodeName", None)
        return made
