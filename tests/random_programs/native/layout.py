"""Parameters of a program, and arguments for them: layouts in memory, sizes and values, from harmless to hostile."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import flambeau
from tests.random_programs.native.scope import Axes, Name
from tests.random_programs.native.tensors import DTYPES

CALLS = 4
"""How many sets of arguments a program has: plain; other layouts of the same; other sizes; other sizes and hostile."""
LISTS = ("ints", "floats", "bools", "rows", "pair", "tensors")
ANNOTATIONS = {
    "int": "int", "float": "float", "bool": "bool", "tensor": "Tensor", "ints": "list[int]", "floats": "list[float]",
    "bools": "list[bool]", "rows": "list[list[int]]", "pair": "tuple[int, float]", "tensors": "list[Tensor]",
    "mixed": "list[Tensor]", "maybe int": "int | None", "maybe float": "float | None", "maybe tensor": "Tensor | None",
}  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """What the program of a seed takes."""

    seed: int
    edges: bool
    lists: bool
    names: tuple[Name, ...]
    dtypes: dict[str, str]
    """Of each tensor."""
    parts: tuple[Name, ...] = ()
    """Numbers and tensors in parameters that are none themselves, as expressions: items, what stands in for None."""

    @property
    def parameters(self) -> str:
        """As they stand in a `def`."""
        return ", ".join(f"{n.text}: {ANNOTATIONS[n.kind]}" for n in self.names)


def layout_of(seed: int) -> Layout:
    """The parameters drawn with a seed."""
    draw = random.Random(f"layout {seed}")
    tensors: list[Name] = []
    axes: Axes = ("p", "q", "r")[: draw.choice([1, 1, 2, 2, 2, 3])]
    for text in "abc"[: draw.choice([1, 2, 2, 3])]:
        mine = axes if text == "a" else draw.choice([axes, axes, axes[1:], axes[-1:], ("s",), ("q", "s"), ()])
        family = draw.choice(["float", "float", "float", "int", "int", "bool"])
        tensors.append(Name(text, "tensor", mine, family, is_written=text == "a" or draw.random() < 0.6, is_fixed=True))
    lists = draw.random() < 0.5
    plain = [Name(text, kind) for text, kind in (("m", "int"), ("u", "float"), ("flag", "bool")) if draw.random() < 0.6]
    more = [Name(kind, kind, is_fixed=True) for kind in LISTS if draw.random() < 0.3] if lists else []
    more = [Name(n.text, n.kind, axes, "float", is_fixed=True) if n.kind == "tensors" else n for n in more]
    names = (*tensors, Name("n", "int", is_fixed=True), Name("v", "float"), *plain, *more)
    dtypes = {t.text: draw.choice(DTYPES[t.family]) for t in (*tensors, *(n for n in more if n.kind == "tensors"))}
    edges = draw.random() < 0.6
    wider, parts = _wider(random.Random(f"wider {seed}"), tensors[0])
    dtypes |= {n.text: draw.choice(DTYPES[n.family]) for n in parts if n.text.startswith("mixed")}
    dtypes |= {n.text: dtypes["a"] for n in wider if n.kind == "maybe tensor"}
    return Layout(seed, edges, lists, (*names, *wider), dtypes, tuple(parts))


def _wider(draw: random.Random, first: Name) -> tuple[list[Name], list[Name]]:
    """Parameters that may be None or are lists of tensors that differ, and what they give to expressions."""
    names, parts = [], []
    for kind, instead in (("int", "3"), ("float", "0.5"), ("tensor", "a")):
        if draw.random() < 0.15:
            text = f"maybe_{kind}"
            axes, family = (first.axes, first.family) if kind == "tensor" else ((), "")
            names.append(Name(text, f"maybe {kind}", axes, family, is_fixed=True))
            part = f"({text} if {text} is not None else {instead})"
            parts.append(Name(part, kind, axes, family, is_written=False, is_fixed=True))
    if draw.random() < 0.15:
        names.append(Name("mixed", "mixed", is_fixed=True))
        for place in range(draw.randint(2, 3)):
            axes = draw.choice([first.axes, first.axes[-1:], ("s",), ()])
            family = draw.choice(["float", "float", "int", "bool"])
            parts.append(Name(f"mixed[{place}]", "tensor", axes, family, is_written=draw.random() < 0.5, is_fixed=True))
    return names, parts


def arguments(layout: Layout, call: int) -> tuple[Any, ...]:
    """Arguments of one call; made anew each time, in memory of their own."""
    return _Maker(layout, call).all()


class _Maker:
    def __init__(self, layout: Layout, call: int) -> None:
        self.layout, self.call = layout, call
        self.draw = np.random.default_rng([layout.seed, call if call != 1 else 0, 7])
        """The second call has the first one's numbers."""
        low, high = (0, 4) if call == 3 else (2, 5)
        self.sizes = {symbol: int(self.draw.integers(low, high)) for symbol in "pqrs"}
        self.hostile = layout.edges and (call >= 2 or layout.seed % 3 == 0)
        self.turn = layout.seed + call

    def all(self) -> tuple[Any, ...]:
        """Every argument in order."""
        made = {n.text: self.one(n) for n in self.layout.names}
        tensors = [n for n in self.layout.names if n.kind == "tensor"]
        if self.call == 3 and self.turn % 3 == 0 and len(tensors) > 1:
            self.overlap(made, tensors)
        return tuple(made.values())

    def one(self, name: Name) -> Any:
        """The argument for one parameter."""
        draw = self.draw
        match name.kind:
            case "tensor":
                return self.tensor(name, self.layout.dtypes[name.text])
            case "maybe int" | "maybe float" | "maybe tensor":
                return None if draw.random() < 0.4 else self.one(replace(name, kind=name.kind.removeprefix("maybe ")))
            case "mixed":
                return [self.tensor(n, self.layout.dtypes[n.text]) for n in self.layout.parts if n.text[:5] == "mixed"]
            case "tensors":
                return [self.tensor(name, self.layout.dtypes[name.text]) for _ in range(int(draw.integers(1, 4)))]
            case "int" if name.text == "n":
                return int(draw.integers(0, 5))
            case "float" | "floats" | "bool" | "bools" | "int" | "ints":
                if not name.kind.endswith("s"):
                    return self.number(name.kind)
                return [self.number(name.kind[:-1]) for _ in range(int(draw.integers(0 if self.call == 3 else 1, 5)))]
            case "rows":
                counts = draw.integers(0, 4, int(draw.integers(1, 4)))
                return [[self.number("int") for _ in range(int(count))] for count in counts]
        return self.number("int"), self.number("float")

    def number(self, kind: str) -> Any:
        """A number."""
        draw = self.draw
        if kind == "bool":
            return bool(draw.integers(2))
        if kind == "int":
            edges = (-(2**63), 2**63 - 1, 0, -1, 2**31, -(2**31), 64, 63)
            return (
                edges[draw.integers(len(edges))] if self.hostile and draw.random() < 0.5 else int(draw.integers(-9, 10))
            )
        if self.hostile and draw.random() < 0.5:
            return float(draw.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, 5e-324, 2.0**63, 0.1]))
        return float(draw.integers(-20, 20)) / 4

    def tensor(self, name: Name, dtype: str) -> Any:
        """A tensor in a layout that turns with seed and call."""
        shape = tuple(self.sizes[symbol] for symbol in name.axes)
        values = self.values(shape, dtype)
        if self.call == 0:
            return flambeau.from_numpy(values)
        match (self.turn + ord(name.text[0])) % 5:
            case 0 if len(shape) > 1:
                return flambeau.from_numpy(np.array(values.T, order="C").T)
            case 1 if shape:
                wide = np.zeros((*shape[:-1], 2 * shape[-1] + 1), values.dtype)
                part = wide[..., 1::2]
                part[...] = values
                return flambeau.from_numpy(part)
            case 2 if shape and not name.is_written:
                return flambeau.from_numpy(np.broadcast_to(values[:1].copy(), shape) if shape[0] else values)
            case 3 if shape:
                tall = np.zeros((2 * shape[0] + 3, *shape[1:]), values.dtype)
                part = tall[3::2]
                part[...] = values
                return flambeau.from_numpy(part)
        return flambeau.from_numpy(values)

    def values(self, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
        """Small whole numbers; in hostile calls the dtype's extremes among them."""
        draw = self.draw
        values = draw.integers(0 if dtype in ("uint8", "bool") else -4, 2 if dtype == "bool" else 5, shape)
        made = np.asarray(values).astype(dtype)
        if not self.hostile or dtype == "bool":
            return made
        if dtype.startswith("float"):
            limits = np.finfo(dtype)
            special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.5, limits.max, limits.tiny, 1e9], dtype)
        else:
            bounds = np.iinfo(dtype)
            special = np.array([bounds.min, bounds.max, bounds.max - 1, 0], dtype)
        where = draw.random(shape) < 0.4
        return np.where(where, special[draw.integers(0, len(special), shape)], made).astype(dtype)

    def overlap(self, made: dict[str, Any], tensors: list[Name]) -> None:
        """Two tensors become views of one piece of memory, if their dtypes and ranks allow."""
        first, second = tensors[:2]
        a = made[first.text].numpy()
        b = made[second.text].numpy()
        if a.dtype != b.dtype or not a.ndim or not b.ndim or not (first.is_written or second.is_written):
            return
        memory = np.zeros(a.size + b.size + 1, a.dtype)
        memory[: a.size] = a.reshape(-1)
        start = a.size // 2
        made[first.text] = flambeau.from_numpy(memory[: a.size].reshape(a.shape))
        made[second.text] = flambeau.from_numpy(memory[start : start + b.size].reshape(b.shape))
