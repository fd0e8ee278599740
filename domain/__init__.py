"""What ganger knows and how it decides: pure, deterministic, without IO, clock or chance."""
