"""The version of this package, which is part of what compiled code is remembered by."""

__version__ = "0.1.0"
cuda: str | None = None
"""Which CUDA this was built with: none, as kernels are compiled where they run."""
hip: str | None = None
debug = False
git_version = ""
