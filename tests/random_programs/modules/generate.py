"""Makes random modules: `forward` and methods over attributes, submodules in lists and dicts, state that calls change.

The source defines `Base` and a function `forward`; `check` puts them together.
"""

from __future__ import annotations

from tests.random_programs.generate import HELPERS, PARAMETERS, RETURNS, Generator
from tests.random_programs.model import Compound, Node, Program, Statement

PRELUDE = '''\
from typing import Final

from flambeau import nn


class Scale(nn.Module):
    """Exact: multiplies by a buffer of small whole numbers, and counts."""

    calls: int
    limit: Optional[int]

    def __init__(self, factor: int, limit: Optional[int] = None):
        super().__init__()
        self.register_buffer("factor", flambeau.tensor([float(factor), 1.0, -1.0]))
        self.calls = 0
        self.limit = limit

    def forward(self, x: Tensor, by: int = 1) -> Tensor:
        self.calls += by
        if self.limit is not None and self.calls > 5:
            self.limit = None
        if self.training:
            self.factor.add_(1.0)
            self.factor.clamp_(-4.0, 4.0)
        return (x * self.factor.to(x.dtype)).clamp(-64.0, 64.0)

    @property
    def twice(self) -> int:
        return self.calls * 2

    def reset(self, to: int) -> int:
        before = self.calls
        self.calls = to
        return before


class Shift(nn.Module):
    amount: nn.Parameter

    def __init__(self, amount: float):
        super().__init__()
        self.amount = nn.Parameter(flambeau.full([3], amount))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.amount.detach().to(x.dtype)


class Pick(nn.Module):
    """One of several by index or name."""

    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleList([Scale(2), Shift(1.0), Scale(-1, 9)])
        self.named = nn.ModuleDict({"near": Shift(-2.0), "far": Scale(3)})
        self.chain = nn.Sequential(Shift(0.5), nn.ReLU(), Shift(-1.0))
        self.history: list[int] = [0]

    def forward(self, x: Tensor, n: int) -> Tensor:
        for i, step in enumerate(self.steps):
            if i <= n % 3:
                x = step(x)
        if n % 2 == 0:
            x = self.named["near"](x)
        for name, module in self.named.items():
            if len(name) + n == 6:
                x = module(x)
        self.history.append(n)
        return self.chain(x)

    def total(self) -> int:
        return sum(self.history) % 1009 + len(self.steps)


class Base(nn.Module):
    table: dict[str, int]
    sizes: Final[tuple[int, int]]

    def __init__(self):
        super().__init__()
        self.scale = Scale(2, 3)
        self.shift = Shift(1.5)
        self.pick = Pick()
        self.missing: Optional[Shift] = None
        self.count = 3
        self.weight = 0.5
        self.name = "net"
        self.marks = [1, 2, 3]
        self.table = {"a": 1, "b": 2}
        self.pair = (4, 0.25)
        self.sizes = (2, 3)
        self.register_buffer("seen", flambeau.zeros(2, 3))
        self.register_parameter("bias", None)

    def helper(self, n: int, twice: bool = False) -> int:
        self.count = (self.count + n) % 61
        if twice:
            return self.helper_of(self.count) + n
        return self.count

    def helper_of(self, n: int) -> int:
        if self.bias is not None:
            return -1
        return n * self.sizes[1] % 37

    @staticmethod
    def mixed(a: int, b: int) -> int:
        return (a * 31 + b) % 101


'''


class ModuleGenerator(Generator):
    """One module from one seed."""

    def statement(self, depth: int) -> Node:
        """A statement about the module's state, or any other."""
        if self.draw.random() < 0.5:
            return super().statement(depth)
        makers = [self.change_state] * 3 + [self.apply] * 4 + [self.look, self.static] + [self.every] * bool(depth)
        return self.draw.choice(makers)(depth)

    def int_expression(self, depth: int = 2) -> str:
        """Often something of the module."""
        if self.draw.random() > 0.25:
            return super().int_expression(depth)
        inner = super().int_expression(0)
        return self.draw.choice([
            "self.count", "self.marks[-1]", "len(self.marks) % 7", "self.pair[0]", "self.sizes[1]", "self.scale.calls % 41",
            "self.table['a']", f"self.helper({inner})", f"self.helper({inner}, twice=flag)", "self.pick.total() % 43",
            f"self.mixed({inner}, n)", "self.scale.twice % 47", "len(self.pick.steps)", "len(self.name)",
        ])  # fmt: skip

    def bool_expression(self, depth: int = 2) -> str:
        """Sometimes a question about the module."""
        if self.draw.random() > 0.15:
            return super().bool_expression(depth)
        return self.draw.choice([
            "self.training", "self.missing is None", "self.scale.limit is not None", "(self.count < 9)",
            "('far' in self.pick.named)", "(self.name == 'net')", "hasattr(self, 'shift')",
        ])  # fmt: skip

    def change_state(self, depth: int) -> Node:
        """A new value of an attribute, here or further down."""
        value = self.int_expression(1)
        return Statement(self.draw.choice([
            f"self.count = {value}", f"self.count += {value} % 5", f"self.marks.append({value})", f"self.marks = [{value}, 1]",
            f"self.table['b'] = {value}", "self.weight *= 0.5", f"self.weight = {self.float_expression(1)}",
            f"self.scale.calls = {value}", f"self.scale.reset({value})", f"self.pick.history[0] = {value}",
            f"self.name = {self.str_expression(0)}", f"self.pair = ({value}, self.weight)", "self.seen.add_(1.0)",
            "self.seen += 0.5", f"self.seen[0, 1] = float({value})", "self.seen = self.seen * 0.5",
            f"self.scale.limit = {value}", "self.seen.zero_()",
        ]))  # fmt: skip

    def apply(self, depth: int) -> Node:
        """A submodule called."""
        sizes = self.draw.choice([(2, 3), (3,)])
        x = self.tensor_expression("exact", sizes, 1)
        text = self.draw.choice([
            f"self.scale({x})", f"self.scale({x}, by=2)", f"self.shift({x})", f"self.pick({x}, {self.int_expression(0)} % 8)",
            f"self.pick.steps[0]({x})", f"self.pick.named['far']({x})", f"self.pick.steps[-1]({x})",
            f"self.shift.forward({x})",
        ])  # fmt: skip
        return self.define("smooth", f"{text}.clamp(-64.0, 64.0)", sizes)

    def every(self, depth: int) -> Node:
        """A loop over submodules."""
        x = self.some("smooth", (3,))
        if x is None:
            return self.apply(depth)
        self.counter += 1
        it = f"it{self.counter}"
        several = self.draw.choice(["self.pick.steps", "self.pick.chain", "self.pick.named.values()"])
        return Compound(f"for {it} in {several}:", [[Statement(f"{x.name} = {it}({x.name})", is_kept=True)]])

    def look(self, depth: int) -> Node:
        """State as a value: a list is the same list."""
        kind, text, sizes = self.draw.choice([
            ("ints", "self.marks", ()), ("ints", "self.pick.history", ()), ("float", "self.weight", ()), ("str", "self.name", ()),
            ("smooth", "self.seen.to(z.dtype)", (2, 3)), ("float", "self.pair[1]", ()), ("dict", "self.table", ()),
        ])  # fmt: skip
        return self.define(kind, text, sizes)

    def static(self, depth: int) -> Node:
        """A way that is decided when the module is compiled."""
        header = self.draw.choice(["if self.missing is not None:", "if self.bias is not None:", "if self.missing is None:"])
        return Compound(header, [self.body(depth)])

    def result(self) -> str:
        """A return of something of each kind."""
        return super().result().replace(".copy(), ", ".copy() + [self.count, self.scale.calls], ", 1)


def generate(seed: int, size: int = 9) -> Program:
    """The `forward` of a module from a seed; the same one each time."""
    generator = ModuleGenerator(seed)
    body: list[Node] = [generator.statement(3) for _ in range(size)]
    body.append(Statement(generator.result()))
    return Program("forward", f"self, {PARAMETERS}", RETURNS, body, HELPERS, PRELUDE)
