"""Kubernetes' Go structs as models, and what a value of the wrong JSON type is told.

A model is named after its Go struct and knows every field of it, so that what it does not know
is an unknown field: kept, since the log keeps what a user wrote, and warned about. JSON null is
as absent, and no field is required here: that is validation's part.
Source: encoding/json, UnmarshalTypeError; k8s.io/apimachinery, runtime/serializer/json.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from types import UnionType
from typing import Annotated, Any, ClassVar, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, ValidationError
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from domain.admission.kinds import Kind
from domain.errors import BadRequest
from domain.quantities import canonical_amount
from domain.times import in_seconds

_LEAST_INT64, _MOST_UINT64 = -(2**63), 2**64 - 1

_VERBATIM = "kubernetes"
"""The type of pydantic's error whose message is Kubernetes' text as it stands."""


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, Decimal):
        value = int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, int) and not _LEAST_INT64 <= value <= _MOST_UINT64:
        return float(value)
    return value


Opaque = Annotated[Any, BeforeValidator(_plain)]
"""A value that is kept without looking into it, as plain JSON data."""


class Struct(BaseModel):
    """A Go struct. `PACKAGE` is its Go package; None: that of the version in which it is read."""

    PACKAGE: ClassVar[str | None] = "v1"

    model_config = ConfigDict(
        alias_generator=to_camel, extra="allow", strict=True, protected_namespaces=(), defer_build=False
    )

    __pydantic_extra__: dict[str, Opaque] = Field(init=False)

    def dump(self) -> dict[str, Any]:
        """The struct as plain JSON data, unknown fields included, without what is not set."""
        return self.model_dump(by_alias=True, exclude_unset=True, exclude_none=True)


class Empty(Struct):
    """A struct whose presence alone says something."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))

    __hash__ = None  # type: ignore[assignment]  # mutable, as every model


@dataclass(frozen=True)
class Go:
    """The Go type of a scalar, as decode errors name it."""

    name: str


def _quantity(value: object) -> str:
    if value is None:
        return "0"
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        value = "not a quantity"
    try:
        return canonical_amount(value.strip() if isinstance(value, str) else Decimal(str(value)))
    except ValueError as error:
        raise _verbatim(str(error)) from error


def _time(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise _verbatim(f"json: cannot unmarshal {_described(value)} into Go value of type string")
    try:
        return in_seconds(value)
    except (ValueError, OverflowError) as error:
        layout = "2006-01-02T15:04:05Z07:00"
        raise _verbatim(f'parsing time "{value}" as "{layout}": cannot parse "{value}" as "2006"') from error


def _int_or_string(value: object) -> int | str | None:
    if value is None or isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    target = "int32" if isinstance(value, Decimal | float) else "string"
    described = _described(value, of_number=True)
    raise _verbatim(f"json: cannot unmarshal {described} into Go value of type {target}")


def _empty_for_null(value: object) -> object:
    return "" if value is None else value


Int32 = Annotated[int, Field(ge=-(2**31), le=2**31 - 1), Go("int32")]
Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1), Go("int64")]
Quantity = Annotated[str, PlainValidator(_quantity), Go("resource.Quantity")]
Time = Annotated[str, BeforeValidator(_time), Go("v1.Time")]
IntOrString = Annotated[int | str, PlainValidator(_int_or_string), Go("intstr.IntOrString")]
Strings = dict[str, Annotated[str, BeforeValidator(_empty_for_null), Go("string")]]
ResourceList = Annotated[dict[str, Quantity], Go("v1.ResourceList")]

M = TypeVar("M", bound=Struct)


def decode(model: type[M], kind: Kind, version: str, manifest: Mapping[str, Any]) -> M:
    """`manifest` as a `model`. Raises BadRequest, with Kubernetes' text, where a type is wrong."""
    try:
        return model.model_validate(manifest)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        first = min(faults, key=lambda fault: _position(manifest, fault["loc"]))
        text = _explained(model, version, first)
        raise BadRequest(
            f'{kind.name} in version "{version}" cannot be handled as a {kind.name}: {text}'
        ) from error


def unknown_fields(struct: Struct) -> list[str]:
    """The paths of the fields in `struct` that Kubernetes does not know, in no certain order."""
    found = list(struct.model_extra or ())
    values = vars(struct)
    for name, alias in _nested(type(struct)):
        value = values[name]
        if value is None:
            continue
        if isinstance(value, list):
            for index, item in enumerate(value):
                found += [f"{alias}[{index}].{inner}" for inner in unknown_fields(item)]
        else:
            found += [f"{alias}.{inner}" for inner in unknown_fields(value)]
    return found


@cache
def _nested(struct: type[Struct]) -> tuple[tuple[str, str], ...]:
    """Name and alias of the fields of `struct` that hold structs, or lists of them."""
    nested = []
    for name, field in struct.model_fields.items():
        inner = _bare(field.annotation)
        if get_origin(inner) is list:
            inner = _bare(get_args(inner)[0])
        if isinstance(inner, type) and issubclass(inner, Struct):
            nested.append((name, field.alias or name))
    return tuple(nested)


def _position(manifest: Any, loc: tuple[int | str, ...]) -> tuple[int, ...]:
    """Where in the document `loc` stands: Go's decoder reports the first fault that it meets."""
    position = []
    for step in loc:
        if isinstance(manifest, dict) and step in manifest:
            position.append(list(manifest).index(step))
        elif isinstance(manifest, list) and isinstance(step, int) and step < len(manifest):
            position.append(step)
        else:
            break
        manifest = manifest[step]
    return tuple(position)


def _explained(model: type[Struct], version: str, fault: ErrorDetails) -> str:
    if fault["type"] == _VERBATIM:
        return fault["msg"]
    struct, annotation, fields = _walk(model, fault["loc"])
    wanted = _go_type(annotation, version)
    described = _described(fault["input"], of_number=wanted.startswith("int"))
    return (
        f"json: cannot unmarshal {described} into Go struct field "
        f"{struct.__name__}.{'.'.join(fields)} of type {wanted}"
    )


def _walk(model: type[Struct], loc: tuple[int | str, ...]) -> tuple[type[Struct], Any, list[str]]:
    """The innermost struct on the way to `loc`, the type wanted there, and the path of field names.

    As Go prints it, the path has neither list indexes nor keys of maps.
    """
    annotation: Any = model
    struct = model
    fields: list[str] = []
    for step in loc:
        inner = _bare(annotation)
        if isinstance(inner, type) and issubclass(inner, Struct):
            field = _field(inner, str(step))
            if field is None:
                break
            struct, annotation = inner, _with_metadata(field)
            fields.append(str(step))
        else:
            arguments = get_args(inner)
            if not arguments:
                break
            annotation = arguments[-1]
    return struct, annotation, fields


def _field(struct: type[Struct], alias: str) -> FieldInfo | None:
    return next((field for field in struct.model_fields.values() if field.alias == alias), None)


def _with_metadata(field: FieldInfo) -> Any:
    marks = tuple(mark for mark in field.metadata if isinstance(mark, Go))
    return Annotated[(field.annotation, *marks)] if marks else field.annotation


def _bare(annotation: Any) -> Any:
    """`annotation` without None and Annotated."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif get_origin(annotation) in (Union, UnionType):
            members = [member for member in get_args(annotation) if member is not type(None)]
            if len(members) != 1:
                return annotation
            annotation = members[0]
        else:
            return annotation


def _go_type(annotation: Any, version: str) -> str:
    for mark in _marks(annotation):
        return mark.name
    bare = _bare(annotation)
    origin, arguments = get_origin(bare), get_args(bare)
    if origin is list:
        return f"[]{_go_type(arguments[0], version)}"
    if origin is dict:
        return f"map[{_go_type(arguments[0], version)}]{_go_type(arguments[1], version)}"
    if isinstance(bare, type) and issubclass(bare, Struct):
        return f"{bare.PACKAGE or version}.{bare.__name__}"
    return {str: "string", bool: "bool", int: "int64"}.get(bare, "interface {}")


def _marks(annotation: Any) -> Iterator[Go]:
    if get_origin(annotation) is Annotated:
        base, *metadata = get_args(annotation)
        yield from (mark for mark in metadata if isinstance(mark, Go))
        yield from _marks(base)
    elif get_origin(annotation) in (Union, UnionType):
        for member in get_args(annotation):
            yield from _marks(member)


def _described(value: object, *, of_number: bool = False) -> str:
    """A JSON value as Go's decoder calls it; a number that does not fit is shown."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float | Decimal):
        return f"number {value}" if of_number else "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, dict) else "array"


def _verbatim(text: str) -> PydanticCustomError:
    return PydanticCustomError(_VERBATIM, "{text}", {"text": text})
