"""Objects as ganger's own routes name them."""

from domain.admission.kinds import Kind, kind_named
from domain.errors import BadRequest, NotFound


def kind_in_path(text: str, *, namespaced: bool) -> Kind:
    """The kind that a path names, in any of kubectl's names. Raises NotFound, also in the wrong place."""
    kind = kind_named(text)
    if kind.namespaced and not namespaced:
        raise NotFound(f"{kind.plural} are in namespaces: /ganger/v1/namespaces/NAMESPACE/{kind.plural}/NAME")
    if namespaced and not kind.namespaced:
        raise NotFound(f"{kind.plural} are in no namespace: /ganger/v1/{kind.plural}/NAME")
    return kind


def subject_of(text: str) -> str:
    """The subject that `text` means: `PodGroup/default/trainer` of `pg/trainer`. Raises BadRequest."""
    word, _, key = text.partition("/")
    kind = kind_named(word)
    parts = key.split("/")
    if kind.namespaced and len(parts) == 1:
        parts = ["default", *parts]
    if len(parts) != 1 + kind.namespaced or not all(parts):
        form = "Kind/namespace/name" if kind.namespaced else "Kind/name"
        raise BadRequest(f'entity: Invalid value: "{text}": must be of the form {form}')
    return f"{kind.name}/{'/'.join(parts)}"
