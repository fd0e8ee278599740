"""The filters of the default profile, one module a plugin; `domain.scheduling.evaluate` has their order."""
