"""The builders of `ganger_testing` under the name that the tests use."""

from ganger_testing.manifests import GPU, Manifest, composite, group, key_of, node, pod
from ganger_testing.story import START, Story, fact

__all__ = ["GPU", "START", "Manifest", "Story", "composite", "fact", "group", "key_of", "node", "pod"]
