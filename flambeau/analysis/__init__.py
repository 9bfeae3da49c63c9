"""Facts about graphs that passes ask for: effects, aliasing, liveness, shapes."""
