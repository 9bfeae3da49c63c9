"""Random kernels: text round trip, and native code against the reference evaluator."""

from __future__ import annotations

import random

import numpy as np
import pytest

from flambeau.codegen import backend, reference
from flambeau.codegen.kernel import Carry, Kernel, KernelBuilder, parse_kernel, print_kernel
from flambeau.codegen.kernel.dtypes import ELEMENT_TYPES
from flambeau.codegen.kernel.opset import OPS, TRAPPING
from tests.codegen.kernels import random_values

EXACT = [
    name for name, spec in OPS.items()
    if name not in TRAPPING | {"pow", "reciprocal", "rsqrt", "hypot", "atan2"} and (spec.kinds != {"float"} or name in
        {"div", "sqrt", "floor", "ceil", "trunc", "round", "frac", "copysign", "isnan", "isinf", "isfinite", "signbit"})
]  # fmt: skip
"""Operations whose result has one right answer, so that errors cannot hide or grow."""
DTYPES = list(ELEMENT_TYPES)


def pick_statement(b: KernelBuilder, r: random.Random, values: list[str]) -> str:
    """One more value made of what is there."""
    by_dtype: dict[str, list[str]] = {}
    for v in values:
        by_dtype.setdefault(b.dtypes[v], []).append(v)
    while True:
        choice = r.random()
        if choice < 0.1:
            return b.cast(r.choice(values), r.choice(DTYPES))
        if choice < 0.2 and "bool" in by_dtype:
            same = by_dtype[r.choice(list(by_dtype))]
            return b.apply("select", r.choice(by_dtype["bool"]), r.choice(same), r.choice(same))
        op = r.choice(EXACT)
        fitting = [d for d in by_dtype if ELEMENT_TYPES[d].kind in OPS[op].kinds]
        if fitting:
            same = by_dtype[r.choice(fitting)]
            return b.apply(op, *(r.choice(same) for _ in range(OPS[op].arity)))


def random_kernel(seed: int) -> Kernel:
    """Two axes; inputs that have both, one or none; pointwise outputs and, half the time, folds."""
    r = random.Random(seed)
    b = KernelBuilder(f"random{seed}", ("i", "j"))
    count = r.randint(1, 4)
    for k in range(count):
        b.input(f"x{k}", r.choice(DTYPES), r.choice([("i", "j"), ("j",), ("i",), ()]))
    b.input("full", r.choice(DTYPES), ("i", "j"))
    names = [f"x{k}" for k in range(count)] + ["full"]

    def grow(values: list[str], steps: int) -> list[str]:
        for _ in range(steps):
            values.append(pick_statement(b, r, values))
        return values

    if r.random() < 0.5:
        with b.loop("i", "j"):
            values = grow([b.load(n) for n in names], r.randint(1, 12))
            b.output("y", b.dtypes[values[-1]], ("i", "j"))
            b.store("y", values[-1])
        return b.kernel()
    dtype = r.choice(DTYPES)
    reducer = r.choice(["max", "min", "argmax"] if dtype != "bool" else ["any", "all"])
    with b.loop("i"):
        with b.loop("j", carries=(Carry("s", dtype, reducer),)):
            values = grow([b.load(n) for n in names], r.randint(1, 8))
            b.accumulate("s", b.cast(values[-1], dtype), b.position("j") if reducer == "argmax" else None)
        b.output("z", b.dtypes["s"], ("i",))
        b.store("z", "s")
    return b.kernel()


@pytest.mark.parametrize("seed", range(60))
def test_native_equals_reference(seed: int) -> None:
    kernel = random_kernel(seed)
    assert parse_kernel(print_kernel(kernel)) == kernel
    compiled = backend.compile_kernel(kernel)
    sizes = {"i": 3, "j": random.Random(seed).choice([1, 5, 16, 67, 130])}
    arrays = [
        random_values(x.dtype, int(np.prod([sizes[a] for a in x.axes])), k).reshape([sizes[a] for a in x.axes])
        for k, x in enumerate(kernel.inputs)
    ]
    turned = [np.asfortranarray(a)[..., ::-1] if a.ndim else a for a in arrays]
    for given in (arrays, turned):
        with np.errstate(all="ignore"):
            (want,) = reference.run(kernel, *given)
        got = compiled(*given)
        np.testing.assert_array_equal(got, want, err_msg=print_kernel(kernel))
