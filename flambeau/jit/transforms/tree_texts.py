"""Texts about containers of tensors, by their types: inner products, and zeros.

>>> from flambeau.schema.types import STRING, TENSOR, DictType
>>> product("g", "t", DictType(STRING, TENSOR), "_")
'_sum([(g[_k0] * t[_k0]).sum() for _k0 in g])'
"""

from __future__ import annotations

from flambeau.schema.types import DictType, ListType, TensorType, TupleType, Type


def is_tree(type_: Type) -> bool:
    """Whether a type is a tensor, or a container of such that texts build: no named tuple."""
    match type_:
        case ListType():
            return is_tree(type_.element)
        case DictType():
            return is_tree(type_.value)
        case TupleType():
            return type_.name is None and bool(type_.elements) and all(map(is_tree, type_.elements))
    return isinstance(type_, TensorType)


def product(first: str, second: str, type_: Type, mark: str, depth: int = 0) -> str:
    """The sum of the products of all elements of two containers."""
    match type_:
        case DictType():
            key = f"{mark}k{depth}"
            inner = product(f"{first}[{key}]", f"{second}[{key}]", type_.value, mark, depth + 1)
            return f"{mark}sum([{inner} for {key} in {first}])"
        case ListType():
            key = f"{mark}k{depth}"
            inner = product(f"{first}[{key}]", f"{second}[{key}]", type_.element, mark, depth + 1)
            return f"{mark}sum([{inner} for {key} in range(len({first}))])"
        case TupleType():
            parts = [product(f"{first}[{n}]", f"{second}[{n}]", t, mark, depth) for n, t in enumerate(type_.elements)]
            return f"({' + '.join(parts)})"
    return f"({first} * {second}).sum()"


def zeros(value: str, type_: Type, mark: str, depth: int = 0) -> str:
    """A container of zeros like those of another."""
    match type_:
        case DictType():
            key, item = f"{mark}k{depth}", f"{mark}v{depth}"
            return f"{{{key}: {zeros(item, type_.value, mark, depth + 1)} for {key}, {item} in {value}.items()}}"
        case ListType():
            item = f"{mark}v{depth}"
            return f"[{zeros(item, type_.element, mark, depth + 1)} for {item} in {value}]"
        case TupleType():
            parts = [zeros(f"{value}[{n}]", one, mark, depth) for n, one in enumerate(type_.elements)]
            return f"({', '.join(parts)},)"
    return f"{mark}zeros_like({value})"
