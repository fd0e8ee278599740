"""Uids in little space: a canonical UUID is kept as its 16 bytes, any other text as it is."""

from functools import lru_cache
from typing import TypeAlias

KeptUid: TypeAlias = bytes | str

_LENGTH = len("00000000-0000-0000-0000-000000000000")


def kept_uid(uid: str) -> KeptUid:
    """`uid` as it is kept: a UUID takes half of what its text would."""
    if len(uid) != _LENGTH:
        return uid
    try:
        kept = bytes.fromhex(uid.replace("-", ""))
    except ValueError:
        return uid
    return kept if uid_text(kept) == uid else uid


@lru_cache(maxsize=1024)
def uid_text(kept: KeptUid) -> str:
    """The text of a kept uid."""
    if isinstance(kept, str):
        return kept
    digits = kept.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
