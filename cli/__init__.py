"""The `ganger` command."""
