"""Tools for testing compilers and programs, ours and users'."""

from flambeau.testing.closeness import assert_allclose, assert_close
from flambeau.testing.file_check import Check, CheckError, FileCheck, InvalidCheckError
from flambeau.testing.made_tensors import make_tensor

__all__ = ["Check", "CheckError", "FileCheck", "InvalidCheckError", "assert_allclose", "assert_close", "make_tensor"]
