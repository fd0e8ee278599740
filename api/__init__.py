"""The HTTP API: Kubernetes' own routes for its kinds, and ganger's own for the book."""
