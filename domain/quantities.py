"""Kubernetes quantities, exactly: `100m`, `1.5`, `4Gi`, `1e3` as fractions and in canonical form.

A quantity keeps the notation it was written in (decimal suffix, binary suffix, exponent), which
decides how the API server prints it back. Unlike Kubernetes nothing is capped at 2^63-1; what is
finer than a nano-unit is rounded up to one, as there.
Source: k8s.io/apimachinery, resource.Quantity.
"""

import re
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache

FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX_WRONG = "unable to parse quantity's suffix"
NUMBER_WRONG = "unable to parse numeric part of quantity"

_NANO = 9
_MAX_DIGITS = 64
"""More digits than this, or an exponent beyond it, name no amount of anything and are refused."""

_CACHED = 4096

_SHAPE = re.compile(r"([+-]?)([0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY_SUFFIX = {power: suffix for suffix, power in _BINARY.items()}

Number = str | int | Decimal


class _Notation(Enum):
    DECIMAL = "decimal suffix"
    BINARY = "binary suffix"
    EXPONENT = "exponent"


def parse_quantity(value: Number) -> Fraction:
    """The exact amount. Raises ValueError, with Kubernetes' text, if `value` is no quantity.

    An amount finer than a nano-unit comes back rounded up (away from zero) to whole nano-units.
    """
    return _parse(str(value))[0]


def milli(value: Number) -> int:
    """The amount in thousandths, rounded up: `100.5m` is 101. Raises as parse_quantity does."""
    return _milli(str(value))


def whole(value: Number) -> int:
    """The amount in whole units, rounded up: `0.5` is 1. Raises as parse_quantity does."""
    return _whole(str(value))


def canonical_quantity(value: Number) -> str:
    """The one way in which the API server prints an amount in `value`'s notation.

    The number is whole and the suffix as large as that allows: `0.5` is `500m`, `1024Mi` is `1Gi`.
    Raises as parse_quantity does.
    """
    return _print(*_parse(str(value)))


def canonical_amount(value: Number) -> str:
    """As canonical_quantity, after rounding up to thousandths: how resource lists are stored.

    Source: kubernetes, SetDefaults_ResourceList.
    """
    return _canonical_amount(str(value))


@lru_cache(maxsize=_CACHED)
def _milli(text: str) -> int:
    return _ceiling(_parse(text)[0] * 1000)


@lru_cache(maxsize=_CACHED)
def _whole(text: str) -> int:
    return _ceiling(_parse(text)[0])


@lru_cache(maxsize=_CACHED)
def _canonical_amount(text: str) -> str:
    amount, notation = _parse(text)
    return _print(Fraction(_away_from_zero(amount * 1000), 1000), notation)


@lru_cache(maxsize=_CACHED)
def _parse(text: str) -> tuple[Fraction, _Notation]:
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise ValueError(FORMAT_WRONG)
    sign, digits, suffix = match.groups()
    integer, _, fraction = digits.partition(".")
    if "." in fraction or not integer + fraction:
        raise ValueError(FORMAT_WRONG)
    if len(integer) + len(fraction) > _MAX_DIGITS:
        raise ValueError(NUMBER_WRONG)
    factor, notation = _interpret(suffix)
    amount = Fraction(int(integer + fraction), 10 ** len(fraction)) * factor
    amount = Fraction(_away_from_zero(amount * 10**_NANO), 10**_NANO)
    if notation is _Notation.BINARY and 0 < amount < 1:
        notation = _Notation.DECIMAL
    return (-amount if sign == "-" else amount), notation


def _interpret(suffix: str) -> tuple[Fraction, _Notation]:
    if suffix in _DECIMAL:
        return Fraction(10) ** _DECIMAL[suffix], _Notation.DECIMAL
    if suffix in _BINARY:
        return Fraction(2 ** _BINARY[suffix]), _Notation.BINARY
    exponent = re.fullmatch(r"[eE]([+-]?[0-9]{1,9})", suffix, re.ASCII)
    if exponent is None or abs(int(exponent[1])) > _MAX_DIGITS:
        raise ValueError(SUFFIX_WRONG)
    return Fraction(10) ** int(exponent[1]), _Notation.EXPONENT


def _print(amount: Fraction, notation: _Notation) -> str:
    if amount == 0:
        return "0"
    if notation is _Notation.BINARY and abs(amount) >= 1024 and amount.denominator == 1:
        return _print_binary(amount.numerator)
    return _print_decimal(amount, notation)


def _print_binary(amount: int) -> str:
    power = 0
    while amount % 1024 == 0 and power < max(_BINARY_SUFFIX):
        amount //= 1024
        power += 10
    return f"{amount}{_BINARY_SUFFIX[power] if power else ''}"


def _print_decimal(amount: Fraction, notation: _Notation) -> str:
    number, power = (amount * 10**_NANO).numerator, -_NANO
    largest = max(_DECIMAL_SUFFIX) if notation is not _Notation.EXPONENT else None
    while number % 1000 == 0 and power != largest:
        number //= 1000
        power += 3
    if notation is _Notation.EXPONENT:
        return f"{number}e{power}" if power else str(number)
    return f"{number}{_DECIMAL_SUFFIX[power]}"


def _away_from_zero(amount: Fraction) -> int:
    return _ceiling(amount) if amount >= 0 else -_ceiling(-amount)


def _ceiling(amount: Fraction) -> int:
    return -(-amount.numerator // amount.denominator)
