"""Quantities: exact amounts, ceilings, and the form in which the API server prints them."""

import re
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.quantities import (
    FORMAT_WRONG,
    NUMBER_WRONG,
    SUFFIX_WRONG,
    canonical_amount,
    canonical_quantity,
    milli,
    parse_quantity,
    whole,
)

DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}

digits = st.text("0123456789", min_size=1, max_size=18)
numbers = st.builds(
    lambda sign, integer, fraction: f"{sign}{integer}{'.' + fraction if fraction is not None else ''}",
    st.sampled_from(["", "+", "-"]),
    digits,
    st.none() | digits,
)
suffixes = st.sampled_from([*DECIMAL, *BINARY]) | st.builds(
    "{}{}{}".format, st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), st.integers(0, 20)
)
quantities = st.builds(str.__add__, numbers, suffixes)


def exactly(number: str, suffix: str) -> Fraction:
    """The amount by the definition of the notation, before what is finer than nano is rounded up."""
    if suffix in DECIMAL:
        return Fraction(number) * Fraction(10) ** DECIMAL[suffix]
    if suffix in BINARY:
        return Fraction(number) * 2 ** BINARY[suffix]
    return Fraction(number) * Fraction(10) ** int(suffix[1:])


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("0m", "0"),
        ("-0", "0"),
        ("0.5", "500m"),
        ("500m", "500m"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("100.5m", "100500u"),
        ("1000", "1k"),
        ("1500", "1500"),
        ("1000000", "1M"),
        ("-1", "-1"),
        ("+2.50", "2500m"),
        (".5", "500m"),
        ("5.", "5"),
        ("1e3", "1e3"),
        ("1E3", "1e3"),
        ("12345e0", "12345"),
        ("5e-1", "500e-3"),
        ("1e4", "10e3"),
        ("1E", "1E"),
        ("1000E", "1000E"),
        ("0.5Gi", "512Mi"),
        ("1.5Gi", "1536Mi"),
        ("1024Mi", "1Gi"),
        ("1023Ki", "1023Ki"),
        ("1Ki", "1Ki"),
        ("0.5Ki", "512"),
        ("0.1Ki", "102400m"),
        ("-2Gi", "-2Gi"),
        ("1024Ei", "1024Ei"),
        ("9223372036854775807", "9223372036854775807"),
        ("9223372036854775808", "9223372036854775808"),
        ("0.0000000001", "1n"),
        ("-0.0000000001", "-1n"),
        ("1.0000000000000000001", "1000000001n"),
        (1, "1"),
        (4096, "4096"),
        (Decimal("0.5"), "500m"),
        (Decimal("1E+3"), "1e3"),
    ],
)
def test_canonical_form(text: str | int | Decimal, canonical: str) -> None:
    assert canonical_quantity(text) == canonical


@pytest.mark.parametrize(
    ("text", "in_milli", "in_whole", "stored"),
    [
        ("100.5m", 101, 1, "101m"),
        ("0.5m", 1, 1, "1m"),
        ("0.5", 500, 1, "500m"),
        ("1u", 1, 1, "1m"),
        ("2", 2000, 2, "2"),
        ("1Mi", 1048576000, 1048576, "1Mi"),
        ("0.1Ki", 102400, 103, "102400m"),
        ("9223372036854775807", 9223372036854775807000, 9223372036854775807, "9223372036854775807"),
    ],
)
def test_units_round_up(text: str, in_milli: int, in_whole: int, stored: str) -> None:
    assert (milli(text), whole(text), canonical_amount(text)) == (in_milli, in_whole, stored)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", FORMAT_WRONG),
        (".", FORMAT_WRONG),
        ("m", FORMAT_WRONG),
        ("lots", FORMAT_WRONG),
        ("1.1.M", FORMAT_WRONG),
        ("1+1.0M", FORMAT_WRONG),
        (" 1", FORMAT_WRONG),
        ("1 ", FORMAT_WRONG),
        ("1_0", FORMAT_WRONG),
        ("１", FORMAT_WRONG),
        ("0x1", FORMAT_WRONG),
        ("1\n", FORMAT_WRONG),
        ("NaN", FORMAT_WRONG),
        ("0.1mi", SUFFIX_WRONG),
        ("1i", SUFFIX_WRONG),
        ("1ki", SUFFIX_WRONG),
        ("1e", SUFFIX_WRONG),
        ("-3.01e-", SUFFIX_WRONG),
        ("1e1e1", FORMAT_WRONG),
        ("1e999999999", SUFFIX_WRONG),
        ("1e-999999999", SUFFIX_WRONG),
        ("1e" + "9" * 5000, SUFFIX_WRONG),
        ("1e" + "0" * 5000, SUFFIX_WRONG),
        ("9" * 5000, NUMBER_WRONG),
    ],
)
def test_what_is_no_quantity(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(complaint)}$"):
        parse_quantity(text)


@given(numbers, suffixes)
def test_the_amount_is_that_of_the_notation_rounded_up_to_nano(number: str, suffix: str) -> None:
    exact = exactly(number, suffix) * 10**9
    away = -(-abs(exact).numerator // abs(exact).denominator)
    assert parse_quantity(number + suffix) * 10**9 == (away if exact >= 0 else -away)


@given(quantities)
def test_the_canonical_form_is_the_same_amount_and_its_own_canonical_form(text: str) -> None:
    canonical = canonical_quantity(text)
    assert parse_quantity(canonical) == parse_quantity(text)
    assert canonical_quantity(canonical) == canonical


@given(quantities)
def test_units_are_ceilings(text: str) -> None:
    exact = parse_quantity(text)
    assert 0 <= milli(text) - exact * 1000 < 1
    assert 0 <= whole(text) - exact < 1


@given(quantities)
def test_what_is_stored_is_the_next_thousandth_away_from_zero(text: str) -> None:
    exact, stored = parse_quantity(text), parse_quantity(canonical_amount(text))
    assert (stored * 1000).denominator == 1
    assert 0 <= (abs(stored) - abs(exact)) * 1000 < 1
    assert canonical_amount(canonical_amount(text)) == canonical_amount(text)


@given(st.text(max_size=12))
def test_any_text_is_an_amount_or_refused(text: str) -> None:
    complaint = None
    try:
        parse_quantity(text)
    except ValueError as refused:
        complaint = str(refused)
    assert complaint in (None, FORMAT_WRONG, SUFFIX_WRONG, NUMBER_WRONG)
