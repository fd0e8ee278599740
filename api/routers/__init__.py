"""Routes, one concern a module."""
