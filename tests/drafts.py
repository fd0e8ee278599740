"""Drafts of events for tests of the store, which does not care what they say."""

from collections.abc import Sequence

from hypothesis import strategies as st

from domain.envelope import Draft, canonical

TYPES = ("PodAdded", "PodUpdated", "GroupAttempted", "PodBound", "NodeDeleted")


def draft(
    name: str = "a",
    *,
    kind: str = "PodAdded",
    subjects: Sequence[str] | None = None,
    cause: int | None = None,
) -> Draft:
    """An event about the Pod `name`, unless `subjects` says what it is about."""
    return Draft(
        type=kind,
        version=1,
        subjects=(f"Pod/default/{name}",) if subjects is None else tuple(sorted(subjects)),
        payload=canonical({"pod": f"default/{name}"}),
        actor="test",
        cause=cause,
    )


def drafts(count: int, prefix: str = "p") -> list[Draft]:
    """`count` events, each about a Pod of its own."""
    return [draft(f"{prefix}{number}") for number in range(count)]


SUBJECTS = [f"Pod/default/{name}" for name in "abcdef"] + ["Node/n1", "PodGroup/default/ü"]


def any_draft() -> st.SearchStrategy[Draft]:
    """Drafts of all types about none to three of a few objects."""
    return st.builds(
        lambda kind, subjects, name, cause: Draft(
            type=kind,
            version=1,
            subjects=tuple(sorted(subjects)),
            payload=canonical({"name": name}),
            actor="test",
            cause=cause,
        ),
        st.sampled_from(TYPES),
        st.sets(st.sampled_from(SUBJECTS), max_size=3),
        st.text(max_size=20),
        st.none() | st.integers(1, 2**62),
    )


def any_drafts(max_size: int = 30) -> st.SearchStrategy[list[Draft]]:
    """Lists of drafts, often empty."""
    return st.lists(any_draft(), max_size=max_size)
