"""Which nodes meet a node selector term. Source: k8s.io/component-helpers, nodeaffinity."""

import re
from collections.abc import Callable

import numpy as np

from domain.roster import Mask, Roster
from domain.selectors import NODE_NAME_FIELD, Requirement, Term

_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)


def matching(roster: Roster, term: Term) -> Mask:
    """The nodes that meet all of `term`; none if it requires nothing."""
    if not (term.labels or term.fields):
        return np.zeros(len(roster), dtype=np.bool_)
    mask = np.ones(len(roster), dtype=np.bool_)
    for requirement in term.labels:
        mask &= with_label(roster, requirement)
    for requirement in term.fields:
        mask &= _with_field(roster, requirement)
    return mask


def with_label(roster: Roster, requirement: Requirement) -> Mask:
    """The nodes whose labels meet `requirement`."""
    values, codes = roster.labels(requirement.key)
    accepts = _acceptance(requirement)
    without_label = requirement.operator in ("NotIn", "DoesNotExist")
    # The last element stands for nodes without the label: their code is -1.
    accepted = np.array([*map(accepts, values), without_label], dtype=np.bool_)
    return accepted[codes]


def _acceptance(requirement: Requirement) -> Callable[[str], bool]:
    """Tells which values of the label meet `requirement`."""
    operands = frozenset(requirement.values)
    match requirement.operator:
        case "In":
            return operands.__contains__
        case "NotIn":
            return lambda value: value not in operands
        case "Exists":
            return lambda _: True
        case "Gt":
            return lambda value: _larger(value, requirement.values[0])
        case "Lt":
            return lambda value: _larger(requirement.values[0], value)
        case _:
            return lambda _: False


def _larger(one: str, other: str) -> bool:
    """Whether both are integers of 64 bits, and `one` the larger."""
    numbers = [int(text) for text in (one, other) if _INTEGER.fullmatch(text)]
    return len(numbers) == 2 and -(2**63) <= numbers[1] < numbers[0] < 2**63


def _with_field(roster: Roster, requirement: Requirement) -> Mask:
    """The nodes whose fields meet `requirement`; the only field is the name."""
    named = roster.mask(requirement.values)
    match requirement.key, requirement.operator:
        case key, "In" if key == NODE_NAME_FIELD:
            return named
        case key, "NotIn" if key == NODE_NAME_FIELD:
            return ~named
        case _:
            return np.zeros(len(roster), dtype=np.bool_)
