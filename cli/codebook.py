"""The file of `--redact-key`: which pseudonym stands for what, so that files made with it agree."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from cli.errors import CannotDo
from cli.whole_files import whole_or_not_at_all

FORMAT = "ganger-pseudonyms"


class _File(msgspec.Struct, frozen=True, kw_only=True):
    codes: dict[str, str]
    format: str
    version: int


@dataclass(frozen=True)
class Codebook:
    """The pseudonym of each piece of a name; kept at `path`, if anywhere."""

    path: Path | None
    codes: Mapping[str, str]

    @classmethod
    def new(cls, path: Path | None) -> "Codebook":
        """A book without entries."""
        return cls(path, {})

    @classmethod
    def read(cls, path: Path) -> "Codebook":
        """The book at `path`, a new one if there is none. Raises CannotDo for another file."""
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return cls.new(path)
        try:
            found = msgspec.json.decode(content, type=_File)
        except msgspec.DecodeError as error:
            raise CannotDo(f"{path} is no file of pseudonyms: {error}") from error
        if (found.format, found.version) != (FORMAT, 1):
            raise CannotDo(f"{path} is no file of pseudonyms that this ganger knows, but {found.format!r}")
        return cls(path, found.codes)

    def keep(self, codes: Mapping[str, str]) -> None:
        """Write the book with these entries instead, for its owner's eyes."""
        if self.path is None:
            return
        content = _File(codes=dict(sorted(codes.items())), format=FORMAT, version=1)
        with whole_or_not_at_all(self.path) as part:
            part.touch(mode=0o600)
            part.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=1))
