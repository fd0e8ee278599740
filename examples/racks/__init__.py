"""Composite jobs on a real network topology: hosts of a GPU cluster with their switches."""
