"""NodeAffinity: the labels and names of nodes that a Pod insists on."""

import numpy as np

from domain.roster import Mask, Roster
from domain.scheduling.selection import matching, with_label
from domain.scheduling.verdict import Verdict, hopeless
from domain.selectors import NODE_NAME_FIELD, Requirement, Term
from domain.shapes import PodShape

NAME = "NodeAffinity"
REASON = "node(s) didn't match Pod's node affinity/selector"
NOT_NAMED = f"node(s) didn't satisfy plugin(s) [{NAME}]"
CONFLICT = "pod affinity terms conflict"


def node_affinity(roster: Roster, shape: PodShape) -> Verdict:
    """Rule out nodes without a selected label, and nodes that meet no required term.

    Source: kube-scheduler 1.37, NodeAffinity.
    """
    fit = np.ones(len(roster), dtype=np.bool_)
    for key, value in shape.node_selector:
        fit &= with_label(roster, Requirement(key, "In", (value,)))
    if shape.required is not None:
        fit &= _any_matching(roster, shape.required)
    return hopeless(NAME, REASON, ~fit)


def named_nodes(shape: PodShape) -> frozenset[str] | None:
    """The only nodes worth a look, if every required term is about nodes by name; else None.

    Empty if no term can be met, whatever nodes there are: they contradict themselves.
    Source: kube-scheduler 1.37, NodeAffinity's PreFilter.
    """
    names = [_names(term) for term in shape.required or ()]
    if not names or None in names:
        return None
    return frozenset[str]().union(*filter(None, names))


def not_named(roster: Roster, names: frozenset[str]) -> Verdict:
    """Rule out all nodes but those with one of `names`, before any filter looks at them."""
    return hopeless(NAME, NOT_NAMED, ~roster.mask(names))


def _any_matching(roster: Roster, terms: tuple[Term, ...]) -> Mask:
    fit = np.zeros(len(roster), dtype=np.bool_)
    for term in terms:
        fit |= matching(roster, term)
    return fit


def _names(term: Term) -> frozenset[str] | None:
    """The names that `term` allows; None if it is not about names."""
    pins = [
        frozenset(field.values)
        for field in term.fields
        if field.key == NODE_NAME_FIELD and field.operator == "In"
    ]
    return frozenset.intersection(*pins) if pins else None
