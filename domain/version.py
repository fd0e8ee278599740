"""Which ganger this is; every attempt in a log names the one that decided it."""

VERSION = "0.1.0"
SCHEDULER = f"ganger {VERSION}"
