"""The builders of `ganger_testing` under the name that the tests use."""

from ganger_testing.manifests import GPU, Manifest, composite, group, key_of, node, pod
from ganger_testing.story import Story, fact
from worker.clocks import START

__all__ = ["GPU", "START", "Manifest", "Story", "composite", "fact", "group", "key_of", "node", "pod"]
