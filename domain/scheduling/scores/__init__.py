"""The scores of the default profile, one module a plugin; `domain.scheduling.score` adds them up."""
