"""Fields that nobody knows, as a request wants them treated: `fieldValidation`.

Source: k8s.io/apiserver, endpoints/handlers, create and patch.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from api.resource import Resource
from domain.admission import faults
from domain.admission.admit import UNKNOWN_FIELD
from domain.admission.rules import RULES
from domain.admission.structs import decode, unknown_fields
from domain.errors import BadRequest, Invalid, Refused
from worker.batch import Outcome

MODES = ("Ignore", "Strict", "Warn")


@dataclass(frozen=True)
class UnknownFields:
    """`Ignore` says nothing of them, `Warn` names them, with `Strict` an object that has some is refused.

    `patch` is the text of the patch that the object comes from, if it does.
    """

    resource: Resource
    mode: str
    patch: str | None = None

    def check(self, manifest: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> None:
        """With `Strict`, raise BadRequest, of a patch Invalid, for unknown fields in `manifest`.

        Those that the object had `before` it was patched do not count.
        """
        if self.mode != "Strict":
            return
        kind, rules = self.resource.kind, RULES[self.resource.kind.name]
        there = () if before is None else unknown_fields(rules.read(before))
        made = decode(rules.model, kind, self.resource.version, manifest)
        new = sorted(set(unknown_fields(made)).difference(there))
        if new:
            raise self._refusal(new)

    def settle(self, outcome: Outcome) -> Outcome:
        """`outcome` with the warnings that are wanted."""
        if self.mode != "Ignore":
            return outcome
        wanted = tuple(text for text in outcome.warnings if not text.startswith(UNKNOWN_FIELD))
        return replace(outcome, warnings=wanted)

    def _refusal(self, unknown: Iterable[str]) -> Refused:
        listed = ", ".join(f'{UNKNOWN_FIELD}"{path}"' for path in unknown)
        said = f"strict decoding error: {listed}"
        if self.patch is None:
            kind = self.resource.kind.name
            version = self.resource.version
            return BadRequest(f'{kind} in version "{version}" cannot be handled as a {kind}: {said}')
        fault = faults.invalid("patch", self.patch, said)
        return Invalid(f' "" is invalid: {fault}', causes=[fault])


def mode_of(text: str | None) -> str:
    """What `fieldValidation` asks for. Raises BadRequest for what it cannot be."""
    if not text:
        return "Warn"
    if text not in MODES:
        listed = ", ".join(f'"{mode}"' for mode in MODES)
        raise BadRequest(f'fieldValidation: Unsupported value: "{text}": supported values: {listed}')
    return text
