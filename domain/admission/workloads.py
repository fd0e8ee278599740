"""Workloads: the faults of their trees of templates, and what an update may change.

Source: Kubernetes 1.37, pkg/apis/scheduling/validation and declarative validation; KEP-6012.
"""

from collections.abc import Iterator, Sequence

from domain.admission import faults, meta, names
from domain.admission.groups import (
    changed,
    claims_faults,
    constraints_faults,
    disruption_faults,
    name_faults,
    policy_faults,
    policy_update_faults,
    priority_faults,
    repeated_items,
)
from domain.admission.kinds import WORKLOAD
from domain.admission.scheduling import (
    CompositePodGroupTemplate,
    PodGroupTemplate,
    TypedLocalObjectReference,
    Workload,
    WorkloadSpec,
)
from domain.errors import Cause

MAX_TEMPLATES = 8
MAX_LEVELS = 4

Template = PodGroupTemplate | CompositePodGroupTemplate
Parent = WorkloadSpec | CompositePodGroupTemplate

_LISTS = ("podGroupTemplates", "compositePodGroupTemplates")
_IMMUTABLE = (
    "scheduling_constraints",
    "resource_claims",
    "disruption_mode",
    "priority_class_name",
    "priority",
    "preemption_policy",
)


def workload_faults(workload: Workload) -> list[Cause]:
    """Every fault of a new Workload."""
    spec = workload.asked
    found = meta.meta_faults(WORKLOAD, workload.meta) + _tree_faults(spec)
    found += _exactly_one_list(spec)
    if spec.controller_ref is not None:
        found += _controller_faults("spec.controllerRef", spec.controller_ref)
    return found + _lists_faults("spec", spec)


def workload_update_faults(workload: Workload, old: Workload) -> list[Cause]:
    """Every fault of an update: no template comes or goes, and only its `minCount` may change."""
    spec, before = workload.asked, old.asked
    found = meta.meta_update_faults(workload.meta, old.meta) + _tree_faults(spec)
    found += _exactly_one_list(spec)
    found += changed("spec", spec, before, ("controller_ref",))
    return found + _lists_update_faults("spec", spec, before)


def _tree_faults(spec: WorkloadSpec) -> list[Cause]:
    """The faults that no template has by itself."""
    found = _repeated_names(spec)
    found += _depth_faults(spec)
    found += _priority_differences(spec)
    for path, template in _composites("spec", spec):
        if not template.pod_group_templates and not template.composite_pod_group_templates:
            text = "must have at least one child PodGroupTemplate or CompositePodGroupTemplate"
            found.append(faults.invalid(path, template.name or "", text))
    return found + _disruption_nesting(spec)


def _composites(path: str, parent: Parent) -> Iterator[tuple[str, CompositePodGroupTemplate]]:
    """The composite templates beneath `parent` with their paths, parents first."""
    for index, template in enumerate(parent.composite_pod_group_templates or ()):
        at = f"{path}.compositePodGroupTemplates[{index}]"
        yield at, template
        yield from _composites(at, template)


def _repeated_names(spec: WorkloadSpec) -> list[Cause]:
    """Names that are in another list too; within one list declarative validation finds them."""
    taken = {template.name for template in spec.pod_group_templates or ()}
    return _repeated_beneath("spec", spec, taken)


def _repeated_beneath(path: str, parent: Parent, taken: set[str | None]) -> list[Cause]:
    found: list[Cause] = []
    if isinstance(parent, CompositePodGroupTemplate):
        found += _taken(f"{path}.podGroupTemplates", parent.pod_group_templates or (), taken)
    composites = parent.composite_pod_group_templates or ()
    found += _taken(f"{path}.compositePodGroupTemplates", composites, taken)
    for index, template in enumerate(composites):
        found += _repeated_beneath(f"{path}.compositePodGroupTemplates[{index}]", template, taken)
    return found


def _taken(path: str, templates: Sequence[Template], taken: set[str | None]) -> list[Cause]:
    """The names in one list that are among those `taken` before it; then they are taken, too."""
    found = [
        faults.duplicate(f"{path}[{index}].name", template.name)
        for index, template in enumerate(templates)
        if template.name in taken
    ]
    taken.update(template.name for template in templates)
    return found


def _depth_faults(spec: WorkloadSpec) -> list[Cause]:
    return [
        faults.invalid(
            f"spec.compositePodGroupTemplates[{index}]",
            template.name or "",
            f"maximum template hierarchy depth is {MAX_LEVELS}",
        )
        for index, template in enumerate(spec.composite_pod_group_templates or ())
        if _composite_levels(template) >= MAX_LEVELS
    ]


def _composite_levels(template: CompositePodGroupTemplate) -> int:
    levels = [_composite_levels(child) for child in template.composite_pod_group_templates or ()]
    return 1 + max(levels, default=0)


def _priority_differences(spec: WorkloadSpec) -> list[Cause]:
    """All templates have one priority and class; flat lists and trees are told so differently."""
    flat = {_priority_of(template) for template in spec.pod_group_templates or ()}
    if len(flat) > 1:
        return [faults.invalid("spec", None, "detected multiple priority configurations")]
    tree = set(flat)
    for _, template in _composites("spec", spec):
        tree.add(_priority_of(template))
        tree.update(_priority_of(child) for child in template.pod_group_templates or ())
    if len(tree) > 1:
        text = "all priority and priorityClassName values must be identical, detected multiple values"
        return [faults.invalid("spec", None, text)]
    return []


def _priority_of(template: Template) -> tuple[str, int | None]:
    return template.priority_class_name or "", template.priority


def _disruption_nesting(spec: WorkloadSpec) -> list[Cause]:
    """What can only be disrupted whole has no parts that can be disrupted singly (KEP-6012)."""
    found: list[Cause] = []
    for path, template in _composites("spec", spec):
        if not _is_all(template):
            continue
        for field, children in _lists_of(template):
            for index, child in enumerate(children):
                if not _is_all(child):
                    at = f"{path}.{field}[{index}].disruptionMode"
                    text = "must be `all` when the disruptionMode of the parent template is `all`"
                    found.append(faults.invalid(at, "single", text))
    return found


def _is_all(template: Template) -> bool:
    mode = template.disruption_mode
    return mode is not None and mode.all_ is not None


def _exactly_one_list(spec: WorkloadSpec) -> list[Cause]:
    lists = (spec.pod_group_templates, spec.composite_pod_group_templates)
    given = [name for name, templates in zip(_LISTS, lists, strict=True) if templates]
    return faults.exactly_one("spec", given, _LISTS)


def _controller_faults(path: str, reference: TypedLocalObjectReference) -> list[Cause]:
    found: list[Cause] = []
    if reference.api_group:
        found += [
            faults.invalid(f"{path}.apiGroup", reference.api_group, text)
            for text in names.subdomain(reference.api_group)
        ]
    for field, value in (("kind", reference.kind), ("name", reference.name)):
        if not value:
            found.append(faults.required(f"{path}.{field}"))
        else:
            found += [faults.invalid(f"{path}.{field}", value, text) for text in names.path_segment(value)]
    return found


def _lists_faults(path: str, parent: Parent) -> list[Cause]:
    """The faults of the template lists of `parent`, each with all that is beneath it."""
    found: list[Cause] = []
    for field, templates in _lists_of(parent):
        at = f"{path}.{field}"
        if len(templates) > MAX_TEMPLATES:
            found.append(faults.too_many(at, len(templates), MAX_TEMPLATES))
            continue
        found += repeated_items(at, templates)
        for index, template in enumerate(templates):
            found += _template_faults(f"{at}[{index}]", template)
    return found


def _lists_of(parent: Parent) -> list[tuple[str, Sequence[Template]]]:
    return [
        ("podGroupTemplates", parent.pod_group_templates or ()),
        ("compositePodGroupTemplates", parent.composite_pod_group_templates or ()),
    ]


def _template_faults(path: str, template: Template) -> list[Cause]:
    found = name_faults(f"{path}.name", template.name)
    found += policy_faults(f"{path}.schedulingPolicy", template.scheduling_policy)
    found += constraints_faults(f"{path}.schedulingConstraints", template.scheduling_constraints)
    if isinstance(template, PodGroupTemplate):
        found += claims_faults(f"{path}.resourceClaims", template.resource_claims)
    found += disruption_faults(f"{path}.disruptionMode", template.disruption_mode)
    found += priority_faults(
        path, template.priority_class_name, template.priority, template.preemption_policy
    )
    if isinstance(template, CompositePodGroupTemplate):
        found += _lists_faults(path, template)
    return found


def _lists_update_faults(path: str, parent: Parent, old: Parent) -> list[Cause]:
    found: list[Cause] = []
    for (field, templates), (_, before) in zip(_lists_of(parent), _lists_of(old), strict=True):
        at = f"{path}.{field}"
        if len(templates) > MAX_TEMPLATES:
            found.append(faults.too_many(at, len(templates), MAX_TEMPLATES))
        known = {template.name: template for template in before}
        moved = [
            faults.forbidden(f"{at}[{index}]", "item may not be added")
            for index, template in enumerate(templates)
            if template.name not in known
        ]
        if not {template.name for template in templates} >= set(known):
            moved.append(faults.forbidden(at, "item may not be removed"))
        found += moved
        if not moved:
            found += repeated_items(at, templates)
            for index, template in enumerate(templates):
                found += _template_update_faults(f"{at}[{index}]", template, known[template.name])
    return found


def _template_update_faults(path: str, template: Template, old: Template) -> list[Cause]:
    if isinstance(template, PodGroupTemplate):
        assert isinstance(old, PodGroupTemplate)
        found = policy_update_faults(
            f"{path}.schedulingPolicy", template.scheduling_policy, old.scheduling_policy
        )
        return found + changed(path, template, old, _IMMUTABLE)
    assert isinstance(old, CompositePodGroupTemplate)
    found = changed(path, template, old, ("scheduling_policy", *_IMMUTABLE))
    return found + _lists_update_faults(path, template, old)
