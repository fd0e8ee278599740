"""The forms that Kubernetes gives to names, keys and label values, and what it says otherwise.

Each check returns the texts of what is wrong with a value, none if it is well formed.
Source: k8s.io/apimachinery, util/validation.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from domain.admission import faults
from domain.errors import Cause

_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"

_QUALIFIED_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    f"'{_QUALIFIED}')"
)
_NOT_QUALIFIED = (
    f"a qualified name {_QUALIFIED_TEXT} with an optional DNS subdomain prefix and '/' "
    "(e.g. 'example.com/MyName')"
)
NOT_A_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    f"'{_SUBDOMAIN}')"
)
NOT_A_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    f"'{_LABEL}')"
)
NOT_A_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    f"for validation is '{_VALUE}')"
)

_MAX_LABEL = 63
_MAX_SUBDOMAIN = 253
_MAX_ANNOTATIONS = 256 * 1024

_CACHED = 4096


@lru_cache(maxsize=_CACHED)
def subdomain(value: str) -> tuple[str, ...]:
    """Names of most objects: dots are allowed."""
    return _check(value, _SUBDOMAIN, NOT_A_SUBDOMAIN, _MAX_SUBDOMAIN)


@lru_cache(maxsize=_CACHED)
def label(value: str) -> tuple[str, ...]:
    """Names of containers, templates and namespaces: no dots."""
    return _check(value, _LABEL, NOT_A_LABEL, _MAX_LABEL)


@lru_cache(maxsize=_CACHED)
def label_value(value: str) -> tuple[str, ...]:
    return _check(value, _VALUE, NOT_A_VALUE, _MAX_LABEL)


@lru_cache(maxsize=_CACHED)
def qualified(value: str) -> tuple[str, ...]:
    """Label keys, resources, taints, gates: a name, perhaps behind a domain and a slash."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        return (_NOT_QUALIFIED,)
    texts = []
    if slash:
        wrong = subdomain(prefix) if prefix else ("must be non-empty",)
        texts += [f"prefix part {text}" for text in wrong]
    if not name:
        texts.append("name part must be non-empty")
    elif len(name) > _MAX_LABEL:
        texts.append(f"name part must be no more than {_MAX_LABEL} characters")
    if not _matches(_QUALIFIED, name):
        texts.append(f"name part {_QUALIFIED_TEXT}")
    return tuple(texts)


@lru_cache(maxsize=_CACHED)
def path_segment(value: str) -> tuple[str, ...]:
    """What can stand between two slashes of a URL."""
    if value in (".", ".."):
        return (f"may not be '{value}'",)
    return tuple(f"may not contain '{mark}'" for mark in "/%" if mark in value)


def labels(path: str, given: Mapping[str, str] | None) -> list[Cause]:
    """The faults of labels, or of a node selector, at `path`."""
    found = []
    for key, value in sorted((given or {}).items()):
        found += [faults.invalid(path, key, text) for text in qualified(key)]
        found += [faults.invalid(path, value, text) for text in label_value(value)]
    return found


def annotations(path: str, given: Mapping[str, str] | None) -> list[Cause]:
    """The faults of annotations: keys are checked without regard to case, and there is a total size."""
    found = []
    size = 0
    for key, value in sorted((given or {}).items()):
        found += [faults.invalid(path, key, text) for text in qualified(key.lower())]
        size += len(key.encode()) + len(value.encode())
    if size > _MAX_ANNOTATIONS:
        found.append(faults.too_long(path, _MAX_ANNOTATIONS))
    return found


def _check(value: str, pattern: str, text: str, longest: int) -> tuple[str, ...]:
    wrong = []
    if len(value.encode()) > longest:
        wrong.append(f"must be no more than {longest} characters")
    if not _matches(pattern, value):
        wrong.append(text)
    return tuple(wrong)


def _matches(pattern: str, value: str) -> bool:
    return re.fullmatch(pattern, value, re.ASCII) is not None
