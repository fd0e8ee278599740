"""Strategic merge patches: as a merge patch, but that some lists are merged item by item.

Source: k8s.io/apimachinery, util/strategicpatch.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final

from api.merge_keys import Rule, Rules
from domain.errors import BadRequest

_DIRECTIVE: Final = "$patch"
_RETAIN_KEYS: Final = "$retainKeys"
_ORDER: Final = "$setElementOrder/"
_DELETE: Final = "$deleteFromPrimitiveList/"

_PLAIN: Final = Rule()


def strategic_merge(current: Mapping[str, Any], patch: Mapping[str, Any], rules: Rules) -> dict[str, Any]:
    """`current` as `patch` changes it; neither of them is touched. Raises BadRequest."""
    match patch.get(_DIRECTIVE, "merge"):
        case "delete":
            return {}
        case "replace":
            return _without_directives(patch)
        case "merge":
            pass
        case other:
            raise _unknown_directive(other, patch)
    merged = dict(_retained(current, patch))
    for name in _touched(patch):
        rule = rules.get(name, _PLAIN)
        if name in patch and patch[name] is None:
            merged.pop(name, None)
        elif isinstance(merged.get(name), list):
            merged[name] = _patched_list(name, merged[name], patch, rule)
        elif name in patch:
            merged[name] = _patched_value(merged.get(name), patch[name], rule)
    return merged


def _touched(patch: Mapping[str, Any]) -> list[str]:
    """The fields that `patch` says something about, by themselves or by a directive."""
    named = (
        name.removeprefix(_ORDER).removeprefix(_DELETE)
        for name in patch
        if name not in (_DIRECTIVE, _RETAIN_KEYS)
    )
    return list(dict.fromkeys(named))


def _retained(current: Mapping[str, Any], patch: Mapping[str, Any]) -> Mapping[str, Any]:
    if _RETAIN_KEYS not in patch:
        return current
    keys = patch[_RETAIN_KEYS]
    if not isinstance(keys, list) or any(name not in keys for name in patch if not name.startswith("$")):
        raise BadRequest("invalid patch format of retainKeys")
    return {name: value for name, value in current.items() if name in keys}


def _patched_value(current: Any, value: Any, rule: Rule) -> Any:
    if isinstance(current, Mapping) and isinstance(value, Mapping) and not rule.replaced:
        return strategic_merge(current, value, rule.within)
    return _without_directives(value)


def _patched_list(name: str, current: list[Any], patch: Mapping[str, Any], rule: Rule) -> Any:
    """The list `name`, which is `current`, as the patch of the object that holds it changes it."""
    gone = _scalars(patch.get(_DELETE + name, []), "invalid patch format of primitive list")
    merged: Any = [item for item in current if isinstance(item, Mapping | list) or item not in gone]
    if name in patch:
        merged = _merged_list(merged, patch[name], rule)
    order = patch.get(_ORDER + name)
    if order is None or not isinstance(merged, list) or not (rule.is_set or rule.key):
        return merged
    if not isinstance(order, list):
        raise BadRequest("invalid patch format of setElementOrder list")
    return _ordered(merged, order, current, rule)


def _merged_list(current: list[Any], value: Any, rule: Rule) -> Any:
    if not isinstance(value, list) or not (rule.is_set or rule.key):
        return _without_directives(value)
    if rule.is_set:
        return list(dict.fromkeys([*current, *_scalars(value, "invalid patch format of primitive list")]))
    return _merged_items(current, value, rule)


def _merged_items(current: list[Any], items: list[Any], rule: Rule) -> list[Any]:
    changes = []
    gone = []
    replaced = False
    for item in items:
        if not isinstance(item, Mapping):
            raise BadRequest("the element in the list is no object")
        match item.get(_DIRECTIVE):
            case None:
                changes.append(item)
            case "delete":
                gone.append(_identity(item, rule))
            case "replace":
                replaced = True
            case other:
                raise _unknown_directive(other, item)
    if replaced:
        return [_without_directives(item) for item in changes]
    kept = [item for item in current if _identity_or_none(item, rule) not in gone]
    places = _places(_identity_or_none(item, rule) for item in kept)
    for item in changes:
        place = places.setdefault(_identity(item, rule), len(kept))
        if place == len(kept):
            kept.append(_without_directives(item))
        else:
            kept[place] = strategic_merge(kept[place], item, rule.within)
    return kept


def _ordered(merged: list[Any], order: list[Any], before: list[Any], rule: Rule) -> list[Any]:
    """`merged` with the items that `order` lists in its order; the others stay where they were.

    Of a listed item and one that is not, the one that came first `before` still does; a listed one that
    is new comes last of the two.
    """
    wanted = _places(_identity(item, rule) for item in order)
    was = _places(_identity_or_none(item, rule) for item in before)
    listed = [item for item in merged if _identity_or_none(item, rule) in wanted]
    listed.sort(key=lambda item: wanted[_identity_or_none(item, rule)])
    others = [item for item in merged if _identity_or_none(item, rule) not in wanted]
    result = []
    while listed and others:
        place, other = (was.get(_identity_or_none(each[0], rule)) for each in (listed, others))
        first = place is not None and other is not None and place < other
        result.append((listed if first else others).pop(0))
    return result + listed + others


def _places(identities: Iterable[Hashable]) -> dict[Hashable, int]:
    found: dict[Hashable, int] = {}
    for place, identity in enumerate(identities):
        found.setdefault(identity, place)
    return found


def _identity(item: Any, rule: Rule) -> Hashable:
    """What tells `item` of a patch from other items of its list. Raises BadRequest if it has nothing."""
    identity = _identity_or_none(item, rule)
    if identity is None:
        raise BadRequest(f"map: {item} does not contain declared merge key: {rule.key}")
    return identity


def _identity_or_none(item: Any, rule: Rule) -> Hashable:
    if rule.key is not None:
        item = item.get(rule.key) if isinstance(item, Mapping) else None
    return item if isinstance(item, Hashable) else None


def _scalars(items: Any, otherwise: str) -> Sequence[Any]:
    if not isinstance(items, list) or any(isinstance(item, Mapping | list) for item in items):
        raise BadRequest(otherwise)
    return items


def _without_directives(value: Any) -> Any:
    """`value` as it is where there was nothing before: without directives, and what they or null delete."""
    if isinstance(value, Mapping):
        return {
            name: _without_directives(inner)
            for name, inner in value.items()
            if inner is not None and not _is_directive(name)
        }
    if isinstance(value, list):
        return [_without_directives(item) for item in value if not _is_deletion(item)]
    return value


def _is_directive(name: str) -> bool:
    return name in (_DIRECTIVE, _RETAIN_KEYS) or name.startswith((_ORDER, _DELETE))


def _is_deletion(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get(_DIRECTIVE) in ("delete", "replace")


def _unknown_directive(found: Any, patch: Mapping[str, Any]) -> BadRequest:
    return BadRequest(f"unknown patch type '{found}' in map: {dict(patch)}")
