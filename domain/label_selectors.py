"""Label selectors, as `kubectl get -l` writes them: `app=web,tier!=test,zone in (a,b),!spare`.

Source: k8s.io/apimachinery, labels.Parse.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from domain.admission import names

Labels = Mapping[str, str]
Test = Callable[[str | None], bool]


@dataclass(frozen=True)
class Requirement:
    """`key` is a label or a field path; `test` is given its value, None where there is none.

    `only` is the one value that passes, None if that is not known.
    """

    key: str
    test: Test
    only: str | None = None


LabelSelector = tuple[Requirement, ...]

_SET = re.compile(r"(?P<key>[^\s!=<>,()]+)\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)")
_COMPARISON = re.compile(r"(?P<key>[^\s!=<>,()]+)\s*(?P<operator>==|=|!=|>|<)\s*(?P<value>[^\s!=<>,()]*)")
_EXISTENCE = re.compile(r"(?P<absent>!?)\s*(?P<key>[^\s!=<>,()]+)")


def parse_labels(text: str) -> LabelSelector:
    """The label selector in `text`; an empty one selects everything. Raises ValueError."""
    return tuple(_requirement(part.strip()) for part in _parts(text))


def selects(selector: LabelSelector, labels: Labels) -> bool:
    """Whether `labels` meet every requirement."""
    return all(requirement.test(labels.get(requirement.key)) for requirement in selector)


def membership(values: frozenset[str], wanted: bool) -> Test:
    """`=`, `in`: one of `values`; `!=`, `notin`: none of them, which also holds without the label."""
    return lambda value: (value in values) == wanted


def _parts(text: str) -> Iterator[str]:
    """The requirements of a label selector: split at commas that are not inside of parentheses."""
    if text.strip():
        yield from re.split(r",(?![^(]*\))", text)


def _requirement(part: str) -> Requirement:
    if match := _SET.fullmatch(part):
        values = [value.strip() for value in match["values"].split(",")]
        _check(match["key"], values)
        return Requirement(match["key"], membership(frozenset(values), match["operator"] == "in"))
    if match := _COMPARISON.fullmatch(part):
        key, operator, value = match["key"], match["operator"], match["value"]
        _check(key, [value])
        if operator in "<>":
            return Requirement(key, _order(operator, value))
        return Requirement(key, membership(frozenset([value]), operator != "!="))
    if match := _EXISTENCE.fullmatch(part):
        _check(match["key"], [])
        absent = bool(match["absent"])
        return Requirement(match["key"], lambda value: (value is None) == absent)
    raise ValueError(f"unable to parse requirement {part!r}")


def _check(key: str, values: list[str]) -> None:
    for fault in names.qualified(key):
        raise ValueError(f"key {key!r}: {fault}")
    for value in values:
        for fault in names.label_value(value):
            raise ValueError(f"value {value!r}: {fault}")


def _order(operator: str, bound: str) -> Test:
    if not re.fullmatch(r"-?\d+", bound):
        raise ValueError("for 'Gt', 'Lt' operators, the value must be an integer")
    limit = int(bound)

    def test(value: str | None) -> bool:
        if value is None or not re.fullmatch(r"-?\d+", value):
            return False
        return int(value) > limit if operator == ">" else int(value) < limit

    return test
