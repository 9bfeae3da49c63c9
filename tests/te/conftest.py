"""The device that tests use."""

from tests.cuda.conftest import cuda, pretended_cuda

__all__ = ["cuda", "pretended_cuda"]
