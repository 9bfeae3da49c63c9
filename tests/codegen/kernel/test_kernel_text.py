"""The loop-nest language: text, its errors, and what the verifier refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from flambeau import codegen
from flambeau.codegen import backend, reference
from flambeau.codegen.hoist import hoist
from flambeau.codegen.kernel import KernelBuilder, KernelError, parse_kernel, print_kernel, verify
from tests.codegen.kernels import SOFTMAX


def test_round_trip() -> None:
    kernel = parse_kernel(SOFTMAX)
    verify(kernel)
    assert print_kernel(kernel) == SOFTMAX


def test_reference_of_softmax() -> None:
    x = np.array([[0.0, 1.0, 2.0], [5.0, 5.0, 5.0]], np.float32)
    (y,) = reference.run(parse_kernel(SOFTMAX), x)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("value", [0.1, -0.0, math.inf, -math.inf, math.nan, 1e-320, 3, -5, True, False])
def test_literals_survive(value: float) -> None:
    dtype = "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float64"
    b = KernelBuilder("k", ())
    b.output("y", dtype, ())
    with b.loop():
        b.store("y", b.const(value, dtype))
    kernel = b.kernel()
    again = parse_kernel(print_kernel(kernel))
    assert print_kernel(again) == print_kernel(kernel)
    (got,), (want,) = reference.run(again), reference.run(kernel)
    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kernel softmax {", "softmax", "line 1: expected 'kernel NAME {'"),
        ("axes r, c", "axis r, c", "line 2: expected 'axes ...'"),
        ("x: float32[r, c]", "x: float31[r, c]", "kernels do not compute in dtype 'float31'"),
        ("load x[r, c]\n      m", "load x[c]\n      m", r"line 8: 'x' is declared with axes \[r, c\]"),
        ("load s[c]", "load q[c]", "line 19: no buffer is called 'q'"),
        ("      m <- %0", "      m := %0", "line 9: expected a statement"),
        ("  }\n}\n", "  }\n", "the text ends before the closing brace"),
        ("  }\n}\n", "  }\n}\nmore\n", "text after the kernel"),
    ],
)
def test_text_errors(old: str, new: str, message: str) -> None:
    assert old in SOFTMAX
    with pytest.raises(KernelError, match=message):
        parse_kernel(SOFTMAX.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("%2: float32 = sub %1, m", "%2: float32 = sub %1, t", "t is read where it is not defined"),
        ("%2: float32 = sub %1, m", "%2: float64 = sub %1, m", "%2: sub gives float32, not float64"),
        ("%3: float32 = exp %2", "%3: float32 = cosine %2", "no kernel operation is called 'cosine'"),
        ("%3: float32 = exp %2", "%3: float32 = exp %2, %2", "exp takes 1 operands, got 2"),
        ("%3: float32 = exp %2", "%3: float32 = bitnot %2", "bitnot is not defined for float32"),
        ("%4: float32 = load", "%3: float32 = load", "%3 is defined twice"),
        ("store y[r, c], %5", "store x[r, c], %5", "cannot store 'in' buffer x"),
        ("%4: float32 = load s[c]", "%4: float32 = load y[r, c]", "cannot load 'out' buffer y"),
        ("m <- %0", "m <- %0 at %0", "'at' belongs to argmax and argmin"),
        ("      t <- %3", "      m <- %3", "stands outside the loop that carries m"),
        ("= maxnum", "= median", "unknown reducer median"),
        ("reduce t: float32 = sum", "reduce t: float32 = any", "any is not defined for float32"),
    ],
)
def test_verifier(old: str, new: str, message: str) -> None:
    assert old in SOFTMAX
    with pytest.raises(KernelError, match=message):
        verify(parse_kernel(SOFTMAX.replace(old, new, 1)))


def test_verifier_shows_the_program() -> None:
    with pytest.raises(KernelError, match="for c reduce m: float32 = maxnum"):
        verify(parse_kernel(SOFTMAX.replace("sub %1, m", "sub %1, q")))


def test_hoist_moves_what_does_not_change() -> None:
    before = parse_kernel("""
    kernel scaled {
      axes i, j
      in x: float32[i, j]
      in w: float32[i]
      out y: float32[i, j]
      for i, j {
        %0: float32 = load x[i, j]
        %1: float32 = load w[i]
        %2: float32 = exp %1
        %3: float32 = mul %0, %2
        store y[i, j], %3
      }
    }
    """)
    assert (
        print_kernel(hoist(before))
        == """\
kernel scaled {
  axes i, j
  in x: float32[i, j]
  in w: float32[i]
  out y: float32[i, j]
  for i {
    %1: float32 = load w[i]
    %2: float32 = exp %1
    for j {
      %0: float32 = load x[i, j]
      %3: float32 = mul %0, %2
      store y[i, j], %3
    }
  }
}
"""
    )


def test_integer_divisions_are_not_hoisted() -> None:
    text = """
    kernel divided {
      axes i, j
      in x: int64[i]
      out y: int64[i, j]
      for i, j {
        %1: int64 = load x[i]
        %2: int64 = floordiv %1, %1
        store y[i, j], %2
      }
    }
    """
    lines = print_kernel(hoist(parse_kernel(text))).splitlines()
    assert lines.index("    for j {") < lines.index("      %2: int64 = floordiv %1, %1")


def test_available_says_so() -> None:
    assert isinstance(codegen.available(), bool)
    assert codegen.supports("exp", "float32")
    assert not codegen.supports("exp", "int64")
    assert codegen.supports("lgamma", "float32")
    assert not codegen.supports("nextafter", "int64")
    assert not codegen.supports("add", "bfloat16")


RUNNING = """kernel sums {
  axes i
  in x: float32[i]
  out y: float32[i]
  for i reduce s: float32 = sum {
    %0: float32 = load x[i]
    s <- %0
    %1: float32 = running s
    store y[i], %1
  }
}
"""


def test_running_states() -> None:
    kernel = parse_kernel(RUNNING)
    assert print_kernel(kernel) == RUNNING
    x = np.arange(1000, dtype=np.float32)
    np.testing.assert_array_equal(backend.compile_kernel(kernel)(x), x.cumsum())
    late = RUNNING.replace("    s <- %0\n", "").replace("store y[i], %1", "store y[i], %1\n    s <- %0")
    with pytest.raises(KernelError, match="before it meets the value of this iteration"):
        verify(parse_kernel(late))
    with pytest.raises(KernelError, match="meets a value after"):
        verify(parse_kernel(RUNNING.replace("store y[i], %1", "store y[i], %1\n    s <- %0")))
    with pytest.raises(KernelError, match="no loop here carries t"):
        verify(parse_kernel(RUNNING.replace("running s", "running t")))


def test_c04_an_output_is_stored_once() -> None:
    text = SOFTMAX.replace("store y[r, c], %5", "store y[r, c], %5\n      store z[r], t")
    text = text.replace("  scratch s", "  out z: float32[r]\n  scratch s")
    with pytest.raises(KernelError, match="store z: it does not vary along c, over which a loop runs"):
        verify(parse_kernel(text))
