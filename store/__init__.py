"""Where the book is kept: event log, hash chain, snapshots, leases, archive, over SQL."""
