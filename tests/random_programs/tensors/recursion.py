"""Functions of tensors and numbers that call themselves or each other, forking on the way or not."""

from __future__ import annotations

from dataclasses import replace

from tests.random_programs.model import Compound, Node, Program, Statement
from tests.random_programs.tensors.values import Scope, Value


def _function(name: str, parameters: str, returns: str, test: str, early: str, last: list[str]) -> Program:
    """A function with a way out before it calls itself."""
    body: list[Node] = [Compound(f"if {test}:", [[Statement(f"return {early}", is_kept=True)]], is_kept=True)]
    return Program(name, parameters, returns, [*body, *(Statement(text, is_kept=True) for text in last)])


def recursive(scope: Scope) -> tuple[str, Value, list[Program]]:
    """The statement that calls one, what it gives, and the functions."""
    draw, f, other, t = scope.draw, scope.name("again"), scope.name("turn"), scope.name()
    makers = ("halves", "climb", "turns", "walk", "paint", "count", "forks")
    start = draw.choice(["k", "k + 3", "x.size(0)", "5"])
    step = draw.choice(["(t * 2 - n)", "(t + n)", "(n - t)", "t.flip([0])"])
    match draw.choice(makers):
        case "halves" | "forks" as kind:
            call = f"flambeau.jit.wait(flambeau.jit.fork({f}, t[:n // 2]))" if kind == "forks" else f"{f}(t[:n // 2])"
            last = ["n = t.size(0)", f"first = {call}", f"return (first {draw.choice('+-')} {f}(t[n // 2:])).clamp(-500, 500)"]
            function = _function(f, "t: Tensor", "Tensor", "t.size(0) <= 1", "t.sum()", last)
            return f"{t} = {f}({draw.choice('xv')})", Value(t, (), "exact", 500), [function]
        case "climb":
            last = [f"return {f}({step}.clamp(-50, 50), n - 1){draw.choice(['', ' + t', ' * 1'])}"]
            function = _function(f, "t: Tensor, n: int", "Tensor", "n <= 0", "t.clone()", last)
            return f"{t} = {f}(x, min({start}, 6)).clamp(-50, 50)", Value(t, ("a", "b"), "exact", 50), [function]
        case "turns":
            back = _function(other, "t: Tensor, n: int", "Tensor", "n <= 1", "t * 1", [f"return {f}(t + n, n - {draw.choice('12')})"])
            function = _function(f, "t: Tensor, n: int", "Tensor", "n <= 0", "t.clone()", [f"return {other}({step}.clamp(-50, 50), n - 1)"])
            return f"{t} = {f}(v, min({start}, 9)).clamp(-50, 50)", Value(t, ("b",), "exact", 50), [replace(function, helpers=[back])]
        case "walk":
            last = [f"return {f}(p, int(p[at % p.size(0)]), left - 1) + {draw.choice(['0', '1', 'left'])}"]
            function = _function(f, "p: Tensor, at: int, left: int", "int", "left <= 0 or p.size(0) == 0", "at", last)
            text = f"{t} = x.sum() * 0 + {f}(ids.reshape(-1), {draw.choice(['0', 'k + 2'])}, {start})"
            return text, Value(t, (), "exact", 500), [function]
        case "paint":
            write = draw.choice(["g[i] += i", "g[i] = g[:i].sum(0) + 1", "g[i, 1:] = i", "g[i] *= -1", "g[i:] -= 1"])
            last = [write, "g.clamp_(-50, 50)", f"return {f}(g, i + {draw.choice('112')})"]
            function = _function(f, "g: Tensor, i: int", "Tensor", "i >= g.size(0)", "g", last)
            return f"{t} = {f}(x.clone(), 0)", Value(t, ("a", "b"), "exact", 50), [function]
        case _:
            last = [f"return {draw.choice([f'{f}(n - 1) + {f}(n - 2)', f'{f}(n // 2) + n', f'({f}(n - 1) * 3 + 1) % 17'])}"]
            function = _function(f, "n: int", "int", "n <= 1", draw.choice(["1", "n"]), last)
            return f"{t} = x.sum() * 0 + {f}({draw.choice(['k + 6', 'min(x.size(0), 9)'])})", Value(t, (), "exact", 500), [function]
