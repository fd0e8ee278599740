"""Moments: every one that can be written is read back as itself, in the form of RFC 3339."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from domain.times import EARLIEST, LATEST, SECOND, parse_rfc3339, rfc3339, rfc3339_micro

moments = st.integers(EARLIEST, LATEST)


@given(moments)
@example(EARLIEST)
@example(LATEST)
@example(parse_rfc3339("0999-12-31T23:59:59.999999Z"))
def test_a_moment_is_written_to_be_read_as_itself(at: int) -> None:
    assert parse_rfc3339(rfc3339_micro(at)) == at
    assert parse_rfc3339(rfc3339(at)) == at - at % SECOND


@given(moments)
@example(EARLIEST)
@example(-1)
def test_a_moment_is_written_in_the_form_of_rfc_3339(at: int) -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", rfc3339(at))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", rfc3339_micro(at))


@given(st.integers(1, 10**20))
def test_what_cannot_be_written_is_written_as_the_last_or_the_first_that_can(beyond: int) -> None:
    assert rfc3339(LATEST + beyond) == rfc3339(LATEST) == "9999-12-31T23:59:59Z"
    assert rfc3339_micro(EARLIEST - beyond) == rfc3339_micro(EARLIEST) == "0001-01-01T00:00:00.000000Z"


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "isoformat"), ("tomorrow", "isoformat"), ("2026-13-01T00:00:00Z", "month"), ("2026-01-01", "zone")],
)
def test_what_names_no_moment_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_rfc3339(text)
