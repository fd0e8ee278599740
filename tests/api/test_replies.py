import pytest

from api.replies import json_reply


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("plain", b'299 - "plain"', id="plain"),
        pytest.param('a "b" \\ c', b'299 - "a \\"b\\" \\\\ c"', id="quotes and backslashes"),
        pytest.param("a\r\nset-cookie: b", b'299 - "a  set-cookie: b"', id="no line breaks"),
        pytest.param("größer", b'299 - "gr\\xf6\\xdfer"', id="ASCII only"),
    ],
)
def test_a_warning_is_one_header(text: str, expected: bytes) -> None:
    reply = json_reply({}, warnings=[text, "another"])
    assert [value for name, value in reply.raw_headers if name == b"warning"] == [
        expected,
        b'299 - "another"',
    ]
