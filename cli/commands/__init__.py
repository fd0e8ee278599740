"""The subcommands of `ganger`: `command` of the module that has its name."""
