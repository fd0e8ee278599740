import json
from typing import Any

import pytest

from api.patches import MERGE_PATCH
from api_world import PODS, Api
from build import pod

CREATED = 'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.colour"'
PATCHED = (
    ' "" is invalid: patch: Invalid value: "{\\"spec\\": {\\"colour\\": 1}}": strict decoding error: unknown'
    ' field "spec.colour"'
)
WARNING = '299 - "unknown field \\"spec.colour\\""'


def _send(api: Api, method: str, mode: str | None) -> Any:
    params = {} if mode is None else {"fieldValidation": mode}
    if method == "PATCH":
        body, headers = json.dumps({"spec": {"colour": 1}}), {"Content-Type": MERGE_PATCH}
        return api.client.patch(f"{PODS}/p", content=body, headers=headers, params=params)
    path = f"{PODS}/p" if method == "PUT" else PODS
    return api.client.request(method, path, json=pod("p", colour=1), params=params)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
@pytest.mark.parametrize(
    ("mode", "warned"), [(None, True), ("", True), ("Warn", True), ("Ignore", False)], ids=str
)
def test_unknown_fields_are_named_or_not(api: Api, method: str, mode: str | None, warned: bool) -> None:
    if method != "POST":
        api.post(PODS, pod("p"))
    reply = _send(api, method, mode)
    assert reply.json()["spec"]["colour"] == 1
    assert reply.headers.get("warning") == (WARNING if warned else None)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        pytest.param("POST", (400, "BadRequest", CREATED), id="create"),
        pytest.param("PUT", (400, "BadRequest", CREATED), id="replace"),
        pytest.param("PATCH", (422, "Invalid", PATCHED), id="patch"),
    ],
)
def test_unknown_fields_are_refused(api: Api, method: str, expected: tuple[int, str, str]) -> None:
    if method != "POST":
        api.post(PODS, pod("p"))
    body = _send(api, method, "Strict").json()
    assert (body["code"], body["reason"], body["message"]) == expected


def test_a_patch_is_not_blamed_for_what_was_there(api: Api) -> None:
    api.post(PODS, pod("p", colour=1))
    patch = json.dumps({"metadata": {"labels": {"a": "b"}}})
    headers = {"Content-Type": MERGE_PATCH}
    reply = api.client.patch(f"{PODS}/p?fieldValidation=Strict", content=patch, headers=headers)
    assert (reply.status_code, reply.json()["metadata"]["labels"]) == (200, {"a": "b"})


def test_no_other_mode(api: Api) -> None:
    assert api.refused("POST", f"{PODS}?fieldValidation=Maybe", json=pod("p")) == (
        400,
        "BadRequest",
        'fieldValidation: Unsupported value: "Maybe": supported values: "Ignore", "Strict", "Warn"',
    )
