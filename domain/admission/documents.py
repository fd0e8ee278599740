"""Manifests as they are written: YAML of one or many documents, JSON, and lists of objects.

Numbers keep every digit: a fraction is read as a Decimal. As for the API server, a scalar is what
YAML 1.1 says (`on` is a boolean), except that times stay strings and numbers have no base sixty.
Sources: sigs.k8s.io/yaml; kubectl, resource builder.
"""

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import msgspec
import yaml

from domain.errors import BadRequest

_MAX_UNFOLDING = 10
"""More values than this for each character come from aliases of aliases, not from a person."""

_ALWAYS = 1000
_MAX_DIGITS = 300
_MAX_DEPTH = 100
_TOO_DEEP = "it is nested too deep"
_LIST_SUFFIX = "List"

_INTEGER = re.compile(r"[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)")
_FRACTION = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One object, and where it stood: the `index`-th document of `source`, from 1, at `line`."""

    value: dict[str, Any]
    source: str
    index: int
    line: int

    @property
    def place(self) -> str:
        return f"{self.source}, document {self.index}, line {self.line}"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # chosen at run time
    """The fast loader where libyaml is there; used for its parser and its resolver alone."""


def _implicit(tag: str, pattern: str, first: str) -> None:
    _Loader.add_implicit_resolver(tag, re.compile(pattern), list(first))


_Loader.yaml_implicit_resolvers = {}
_implicit(
    "bool",
    r"^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$",
    "yYnNtTfFoO",
)
_implicit("null", r"^(?:~|null|Null|NULL|)$", "~nN")
_Loader.yaml_implicit_resolvers[""] = [("null", re.compile(r"^$"))]
_implicit("int", f"^(?:{_INTEGER.pattern})$", "-+0123456789")
_implicit("float", f"^(?:{_FRACTION.pattern})$", "-+.0123456789")
_implicit("float", r"^[-+]?\.(?:inf|Inf|INF|nan|NaN|NAN)$", "-+.")
_implicit("merge", r"^<<$", "<")


def read_documents(text: str | bytes, source: str) -> list[Document]:
    """The objects of `text` in order, lists of objects taken apart.

    Raises BadRequest, which names `source`, document, line and column, if the text is malformed,
    gives a key twice, or has something that is no object.
    """
    decoded = _decoded(text, source)
    if decoded.lstrip()[:1] == "{":
        try:
            value = _read_json(decoded)
        except _NotJson:
            pass  # a flow mapping of YAML begins the same way, and its reader says what is wrong
        else:
            return list(_flattened(value, source, 1, 1))
    documents: list[Document] = []
    for index, line, value in _read_yaml(decoded, source):
        documents += _flattened(value, source, index, line)
    return documents


def read_value(text: str | bytes, source: str) -> Any:
    """The JSON value that `text` is, with numbers as those of manifests. Raises BadRequest."""
    try:
        return _read_json(_decoded(text, source))
    except _NotJson as error:
        raise BadRequest(f"{source}: {error.__cause__ or _TOO_DEEP}") from error


def is_too_deep(value: Any) -> bool:
    """Whether `value` is nested deeper than any manifest may be."""
    return _deeper_than(_MAX_DEPTH, value)


class _NotJson(Exception):
    """The text is no single JSON document."""


def _decoded(text: str | bytes, source: str) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        column = error.start - (text.rfind(b"\n", 0, error.start) + 1) + 1
        raise BadRequest(f"{source}, line {line}, column {column}: not UTF-8") from error


def _flattened(value: Any, source: str, index: int, line: int) -> Iterator[Document]:
    if not isinstance(value, dict):
        raise BadRequest(f"{source}, document {index}, line {line}: an object is a mapping of fields")
    items = value.get("items")
    if str(value.get("kind", "")).endswith(_LIST_SUFFIX) and isinstance(items, list):
        for item in items:
            yield from _flattened(_with_kind_of(value, item), source, index, line)
    else:
        yield Document(value=value, source=source, index=index, line=line)


def _with_kind_of(listed: dict[str, Any], item: Any) -> Any:
    """An item of a typed list such as `PodList` need not say what it is."""
    kind = str(listed["kind"]).removesuffix(_LIST_SUFFIX)
    if not kind or not isinstance(item, dict):
        return item
    return {"apiVersion": listed.get("apiVersion"), "kind": kind, **item}


def _read_json(text: str) -> Any:
    try:
        value = json.loads(
            text,
            parse_float=_fraction,
            parse_int=_integer,
            parse_constant=_no_number,
            object_pairs_hook=_unique,
        )
    except (ValueError, RecursionError) as error:
        raise _NotJson from error
    if is_too_deep(value):
        raise _NotJson
    return value


def _deeper_than(levels: int, value: Any) -> bool:
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return False
    return levels == 0 or any(_deeper_than(levels - 1, item) for item in value)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ValueError("a key stands twice")
    return mapping


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _read_yaml(text: str, source: str) -> Iterator[tuple[int, int, Any]]:
    """The documents that are not empty, with their number and first line, both from 1."""
    loader = None
    index = 0
    try:
        loader = _Loader(text)
        while loader.check_node():
            index += 1
            node = loader.get_node()
            value = _Values(source, index, _MAX_UNFOLDING * len(text) + _ALWAYS).of(node)
            if value is not None:
                yield index, node.start_mark.line + 1, value
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _malformed(source, max(index, 1), mark, error.problem or str(error)) from error
    except yaml.reader.ReaderError as error:
        before = text[: int(error.position)]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        where = f"{source}, document {index + 1}, line {line}, column {column}"
        raise BadRequest(f"{where}: {error.reason}: {error.character}") from error
    except RecursionError as error:
        raise BadRequest(f"{source}, document {max(index, 1)}: {_TOO_DEEP}") from error
    finally:
        if loader is not None:
            loader.dispose()


class _Values:
    """Turns the nodes of one document into plain values, `most` of them."""

    def __init__(self, source: str, index: int, most: int) -> None:
        self._source = source
        self._index = index
        self._left = most

    def of(self, node: yaml.Node, depth: int = 0) -> Any:
        self._left -= 1
        if self._left < 0:
            raise self._wrong(node, "its aliases unfold to too much")
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if depth == _MAX_DEPTH:
            raise self._wrong(node, _TOO_DEEP)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, depth + 1)
        return [self.of(item, depth + 1) for item in node.value]

    def _mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == "merge":
                values = self.of(value_node, depth)
                for value in values if isinstance(values, list) else [values]:
                    if not isinstance(value, dict):
                        raise self._wrong(value_node, "only mappings can be merged")
                    merged = {**value, **merged}
                continue
            key = self._key(key_node)
            if key in mapping:
                raise self._wrong(key_node, f"the key {key!r} stands twice in one mapping")
            mapping[key] = self.of(value_node, depth)
        return {**merged, **mapping} if merged else mapping

    def _key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self._wrong(node, "a key is a plain text")
        value = self._scalar(node)
        if isinstance(value, bool):
            return "true" if value else "false"
        return "null" if value is None else str(value)

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        tag, text = node.tag.removeprefix("tag:yaml.org,2002:"), node.value
        if tag in ("str", "merge"):
            return text
        if tag == "null":
            return None
        if tag == "bool":
            return text[:1] in "yYtT" or text.lower() == "on"
        try:
            if tag == "int":
                return _integer(text)
            if tag == "float":
                return _fraction(text)
        except ValueError as error:
            raise self._wrong(node, str(error)) from error
        raise self._wrong(node, f"the tag {node.tag} has no meaning here")

    def _wrong(self, node: yaml.Node, problem: str) -> BadRequest:
        return _malformed(self._source, self._index, node.start_mark, problem)


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise ValueError("a number of too many digits")
    plain = text.replace("_", "")
    digits = plain.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
        sign = -1 if plain.startswith("-") else 1
        return sign * int(digits, 8)
    return int(plain, 0)


def _fraction(text: str) -> Decimal:
    if len(text) > _MAX_DIGITS or _FRACTION.fullmatch(text) is None:
        raise ValueError(f"{text[:20]} is no number")
    number = Decimal(text)
    if abs(number.adjusted()) > _MAX_DIGITS:
        raise ValueError(f"{text[:20]} is out of range")
    return number


def _malformed(source: str, index: int, mark: Any, problem: str) -> BadRequest:
    where = f", line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
    return BadRequest(f"{source}, document {index}{where}: {problem}")
