"""Uids: whatever is kept is the text that came."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.uids import kept_uid, uid_text

UUID_TEXT = "0f3b8a52-9c1d-4e7f-8a6b-00c2d4e6f801"


@given(st.uuids())
def test_a_uuid_is_kept_as_its_bytes(uuid: UUID) -> None:
    assert kept_uid(str(uuid)) == uuid.bytes
    assert uid_text(uuid.bytes) == str(uuid)


@given(st.text() | st.from_regex(r"[0-9a-fA-F-]{36}", fullmatch=True))
def test_any_text_comes_back_as_it_was(uid: str) -> None:
    assert uid_text(kept_uid(uid)) == uid


@pytest.mark.parametrize(
    "uid",
    [
        pytest.param("", id="empty"),
        pytest.param("uid-of-a", id="some text"),
        pytest.param(UUID_TEXT.upper(), id="capitals"),
        pytest.param(UUID_TEXT.replace("-", ""), id="no dashes"),
        pytest.param(UUID_TEXT[1:9] + UUID_TEXT[0] + UUID_TEXT[9:], id="a dash elsewhere"),
        pytest.param(UUID_TEXT.replace("-", " "), id="spaces"),
        pytest.param("g" + UUID_TEXT[1:], id="a letter too far"),
        pytest.param("ä" + UUID_TEXT[1:], id="beyond ASCII"),
    ],
)
def test_what_is_no_canonical_uuid_is_kept_as_text(uid: str) -> None:
    assert kept_uid(uid) == uid
