"""Values that are seldom computed: what a kernel is without them."""

from __future__ import annotations

from flambeau.codegen.kernel.nest import Kernel, Let, Loop, Seldom, Statement, walk
from flambeau.util.record import replace


def usual(kernel: Kernel) -> Kernel:
    """The kernel as it mostly runs: with what there is otherwise in place of values that are seldom computed.

    >>> from flambeau.codegen.kernel import parse_kernel, print_kernel
    >>> text = '''kernel k {
    ...   axes i
    ...   in x: float32[i]
    ...   out y: float32[]
    ...   for i reduce s: float32 = sum {
    ...     %0: float32 = load x[i]
    ...     s <- %0
    ...   }
    ...   %1: bool = isnan s
    ...   %3: float32 = seldom %1 {
    ...     %2: float32 = const 1.0
    ...   } %2, s
    ...   store y[], %3
    ... }'''
    >>> print(print_kernel(usual(parse_kernel(text))), end='')
    kernel k {
      axes i
      in x: float32[i]
      out y: float32[]
      for i reduce s: float32 = sum {
        %0: float32 = load x[i]
        s <- %0
      }
      %1: bool = isnan s
      %3: float32 = select %1, s, s
      store y[], %3
    }
    """
    has_seldom = any(isinstance(s, Seldom) for s in walk(kernel.body))
    return replace(kernel, body=tuple(map(_usual, kernel.body))) if has_seldom else kernel


def _usual(s: Statement) -> Statement:
    if isinstance(s, Seldom):
        return Let(s.name, s.dtype, "select", (s.when, s.otherwise, s.otherwise))
    return replace(s, body=tuple(map(_usual, s.body))) if isinstance(s, Loop) else s
