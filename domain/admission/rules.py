"""How objects of each kind are read, defaulted, admitted, validated and updated."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from domain.admission import budgets, classes, groups, kinds, nodes, pod_updates, pods, priority, workloads
from domain.admission.core import Namespace, Node, Pod
from domain.admission.meta import Object
from domain.admission.policy import PodDisruptionBudget
from domain.admission.priority import Classes
from domain.admission.scheduling import CompositePodGroup, PodGroup, PriorityClass, Workload
from domain.errors import Cause

M = TypeVar("M", bound=Object)


def _nothing_to_admit(known: Classes, made: Object) -> None:
    """Most kinds have no admission beside validation."""


def _nothing_to_keep(known: Classes, made: Object, old: Object) -> None:
    """Most kinds have nothing that only ganger fills in."""


def _no_defaults(made: Object) -> None:
    """Some kinds have no defaults."""


@dataclass(frozen=True)
class Rules(Generic[M]):
    """How objects of one kind are admitted.

    `admit` is admission on creation, `keep` lets an update that leaves out what was filled in
    mean what is there; `observed`: the status comes from outside, and manifests may give it.
    """

    model: type[M]
    faults: Callable[[M], list[Cause]]
    update_faults: Callable[[M, M], list[Cause]]
    set_defaults: Callable[[M], None] = _no_defaults
    admit: Callable[[Classes, M], None] = _nothing_to_admit
    keep: Callable[[Classes, M, M], None] = _nothing_to_keep
    observed: bool = False

    def read(self, stored: Mapping[str, Any]) -> M:
        """A stored object, which is well formed."""
        made = self.model.model_validate(stored)
        made.meta.resource_version = None
        return made


def _admit_pod(known: Classes, pod: Pod) -> None:
    priority.resolve(kinds.POD, pod.meta.name or "", pod.asked, known)


def _keep_pod(known: Classes, pod: Pod, old: Pod) -> None:
    priority.keep(pod.asked, old.asked, known)
    pod.asked.node_name = pod.asked.node_name or old.asked.node_name


def _admit_group(known: Classes, group: PodGroup) -> None:
    priority.resolve(kinds.POD_GROUP, group.meta.name or "", group.asked, known)
    groups.protect(group)


def _keep_group(known: Classes, group: PodGroup, old: PodGroup) -> None:
    priority.keep(group.asked, old.asked, known)


def _admit_composite(known: Classes, group: CompositePodGroup) -> None:
    priority.resolve(kinds.COMPOSITE_POD_GROUP, group.meta.name or "", group.asked, known)


def _keep_composite(known: Classes, group: CompositePodGroup, old: CompositePodGroup) -> None:
    priority.keep(group.asked, old.asked, known)


def _admit_class(known: Classes, priority_class: PriorityClass) -> None:
    classes.check_default(priority_class.meta.name or "", priority_class, known)


def _keep_class(known: Classes, priority_class: PriorityClass, old: PriorityClass) -> None:
    _admit_class(known, priority_class)


RULES: Mapping[str, Rules[Any]] = {
    kinds.NODE.name: Rules(
        model=Node,
        faults=nodes.node_faults,
        update_faults=nodes.node_update_faults,
        set_defaults=nodes.set_defaults,
        observed=True,
    ),
    kinds.NAMESPACE.name: Rules(
        model=Namespace, faults=nodes.namespace_faults, update_faults=nodes.namespace_update_faults
    ),
    kinds.POD.name: Rules(
        model=Pod,
        faults=pods.pod_faults,
        update_faults=pod_updates.pod_update_faults,
        set_defaults=pods.set_defaults,
        admit=_admit_pod,
        keep=_keep_pod,
        observed=True,
    ),
    kinds.POD_GROUP.name: Rules(
        model=PodGroup,
        faults=groups.group_faults,
        update_faults=groups.group_update_faults,
        set_defaults=groups.set_defaults,
        admit=_admit_group,
        keep=_keep_group,
    ),
    kinds.COMPOSITE_POD_GROUP.name: Rules(
        model=CompositePodGroup,
        faults=groups.composite_faults,
        update_faults=groups.composite_update_faults,
        set_defaults=groups.set_defaults,
        admit=_admit_composite,
        keep=_keep_composite,
    ),
    kinds.WORKLOAD.name: Rules(
        model=Workload, faults=workloads.workload_faults, update_faults=workloads.workload_update_faults
    ),
    kinds.PRIORITY_CLASS.name: Rules(
        model=PriorityClass,
        faults=classes.class_faults,
        update_faults=classes.class_update_faults,
        set_defaults=classes.set_defaults,
        admit=_admit_class,
        keep=_keep_class,
    ),
    kinds.POD_DISRUPTION_BUDGET.name: Rules(
        model=PodDisruptionBudget,
        faults=budgets.budget_faults,
        update_faults=budgets.budget_update_faults,
        observed=True,
    ),
}
