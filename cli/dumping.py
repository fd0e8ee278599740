"""Objects as JSON or YAML, keys in the order that kubectl prints them."""

import json
from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    """Writes lists indented under their key, and the same object as often as it appears."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def dump(body: Any, output: str) -> str:
    """`body` as text, `output` is `json` or `yaml`."""
    if output == "json":
        return json.dumps(body, indent=4, ensure_ascii=False) + "\n"
    text: str = yaml.dump(body, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31)
    return text
