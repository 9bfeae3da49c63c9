"""Long sums of products in stretches: those of one begin at zero, and what came before is added behind it. So errors
grow with the steps of a stretch and with the number of stretches, not with all steps.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.llvm.emitter import Value, float_constant
from flambeau.codegen.products.base import ProductEmitter, word

Fold = Callable[[list[Value], Value], tuple[list[Value], list[Value]]]
"""Emits so many steps from the addresses of the first: the addresses behind the last, and the sums."""


def in_stretches(p: ProductEmitter, each: int, steps: Value, at: list[Value], count: int, fold: Fold) -> list[Value]:
    """So many sums over all steps, `each` of them a stretch."""
    e, lanes = p.e, p.lanes
    zero = float_constant(0.0, p.type.llvm, lanes)
    number_of = e.binary("udiv", e.binary("add", steps, word(each // 2)), word(each))
    stretches = e.intrinsic("smax", number_of, word(1))
    before = e.slot(f"[{count * lanes} x {p.type.llvm}]")
    addresses = [p.at(before, k * lanes * p.type.itemsize) for k in range(count)]

    def stretch(state: list[Value]) -> list[Value]:
        number, here, sums = state[0], state[1 : 1 + len(at)], state[1 + len(at) :]
        following = e.binary("add nuw nsw", number, word(1))
        is_first, is_last = e.icmp("eq", number, word(0)), e.icmp("eq", following, stretches)
        left = e.binary("sub", steps, e.binary("mul nuw nsw", number, word(each)))
        _put_away(p, is_first, sums, addresses)
        here, own = fold(here, e.select(is_last, left, word(each)))
        return [following, *here, *_with_those_before(p, is_first, own, addresses)]

    return p.repeat(stretches, [word(0), *at, *[zero] * count], stretch)[1 + len(at) :]


def _put_away(p: ProductEmitter, is_first: Value, sums: list[Value], addresses: list[Value]) -> None:
    """Write what there is to memory, but for the first stretch, before which there is nothing."""
    e = p.e
    later, free = e.label("later"), e.label("free")
    e.branch_if(is_first, free, later)
    e.start(later)
    for value, address in zip(sums, addresses, strict=True):
        e.write(value, address)
    e.branch(free)
    e.start(free)


def _with_those_before(p: ProductEmitter, is_first: Value, sums: list[Value], addresses: list[Value]) -> list[Value]:
    """The sums with those that were put away."""
    e, here = p.e, p.e.block
    later, added = e.label("more"), e.label("added")
    e.branch_if(is_first, added, later)
    e.start(later)
    totals = [e.fadd(e.read(address, p.type.llvm, p.lanes), s) for s, address in zip(sums, addresses, strict=True)]
    e.branch(added)
    e.start(added)
    joined = [Value(e.name("s"), s.type, s.lanes) for s in sums]
    for name, s, total in zip(joined, sums, totals, strict=True):
        e.phi(name.text, s, [(s, here), (total, later)])
    return joined
