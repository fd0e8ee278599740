"""`-k` expressions, as pytest takes them: words that a name contains, joined by and, or, not."""

import re
from collections.abc import Callable, Iterator

Test = Callable[[str], bool]

_TOKEN = re.compile(r"\s*([()]|[^\s()]+)")


def parse_keywords(text: str) -> Test:
    """A test of lower-case names. Raises ValueError for an expression that is not well formed."""
    tokens = _Tokens(text)
    test = _any(tokens)
    if tokens.next is not None:
        raise ValueError(f"{text!r} cannot be read from {tokens.next!r} on")
    return test


class _Tokens:
    """The words of an expression; `next` is the one to come, None at the end."""

    def __init__(self, text: str) -> None:
        self._tokens: Iterator[str] = iter(_TOKEN.findall(text))
        self._text = text
        self.next = next(self._tokens, None)

    def take(self) -> str:
        taken = self.next
        if taken is None:
            raise ValueError(f"{self._text!r} ends too early")
        self.next = next(self._tokens, None)
        return taken

    def take_if(self, token: str) -> bool:
        if self.next != token:
            return False
        self.take()
        return True


def _any(tokens: _Tokens) -> Test:
    tests = [_all(tokens)]
    while tokens.take_if("or"):
        tests.append(_all(tokens))
    return lambda name: any(test(name) for test in tests)


def _all(tokens: _Tokens) -> Test:
    tests = [_one(tokens)]
    while tokens.take_if("and"):
        tests.append(_one(tokens))
    return lambda name: all(test(name) for test in tests)


def _one(tokens: _Tokens) -> Test:
    if tokens.take_if("not"):
        test = _one(tokens)
        return lambda name: not test(name)
    if tokens.take_if("("):
        test = _any(tokens)
        if not tokens.take_if(")"):
            raise ValueError("a parenthesis is not closed")
        return test
    word = tokens.take().lower()
    return lambda name: word in name
