"""The API server's part: manifests in, complete objects or refusals out; no clock, chance or IO."""
