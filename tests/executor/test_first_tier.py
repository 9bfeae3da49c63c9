"""Which calls a long program answers as it is written, and that nobody sees a difference but in the time it takes."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.codegen.attention import rules
from flambeau.executor.options import Options


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path / "cache"))


STEP = " x = flambeau.tanh(x) * 2 - 1\n"
LONG_TEXT = "def f(x: Tensor):\n" + STEP * 12 + " return x\n"
X = flambeau.arange(8.0).reshape(2, 4)


def compiled(text: str) -> Any:
    return flambeau.CompilationUnit(text).f


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(flambeau.linspace(-1.0, 1.0, 4))
        self.count = 3

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() != 2:
            raise ValueError("rows wanted")
        for _ in range(len(x.shape)):
            x = x * 0.5
        x = flambeau.tanh(x * self.weight).relu().sigmoid().exp().log().abs().sin().cos().neg()
        x = flambeau.tanh(x * self.weight).relu().sigmoid().exp().log().abs().sin().cos().neg()
        x = flambeau.tanh(x * self.weight).relu().sigmoid().exp().log().abs().sin().cos().neg()
        return flambeau.tanh(x * self.weight).relu().sigmoid().exp().log().abs().sin().cos().neg()


def saved() -> bytes:
    stream = io.BytesIO()
    flambeau.jit.save(flambeau.script(Net()), stream)
    return stream.getvalue()


def loaded(content: bytes) -> Any:
    return flambeau.jit.load(io.BytesIO(content))


def test_the_first_call_has_no_plan_and_the_second_has() -> None:
    f = compiled(LONG_TEXT)
    first = f(X)
    said = f.explain()
    assert (said.compilations, said.first_calls, said.is_native) == ((), 1, False)
    assert "first tier: 1 call answered as the program is written, 36 operators" in str(said)
    assert flambeau.allclose(f(X), first, rtol=1e-6, atol=1e-6)
    assert len(f.explain().compilations) == 1
    assert f.explain().first_calls == 1


class Short(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return flambeau.tanh(x.exp().log() * 2.0)


class OneLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


@pytest.mark.parametrize("kind", [Short, OneLayer])
def test_a_short_program_from_an_archive_has_no_plan_for_its_first_call(
    kind: type[nn.Module], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLAMBEAU_BACKGROUND", "off")
    stream = io.BytesIO()
    scripted = flambeau.script(kind())
    flambeau.jit.save(scripted, stream)
    x = X + 1.0
    module = loaded(stream.getvalue())
    with flambeau.no_grad():
        first = module(x)
        assert (module.explain().first_calls, module.explain().compilations) == (1, ())
        assert flambeau.allclose(module(x), first, rtol=1e-6, atol=1e-6)
        assert len(module.explain().compilations) == 1
        scripted(x)  # made here, it is called often: a plan at once
        assert (scripted.explain().first_calls, len(scripted.explain().compilations)) == (0, 1)


class Halves(nn.Module):
    def forward(self, x: Tensor, n: int) -> Tensor:
        i = 0
        while i < n:
            x = x * 0.5 + 1.0
            i += 1
        return x


class Numbers(nn.Module):
    def forward(self, words: list[str], n: int) -> tuple[int, str]:
        total = 0
        for i in range(n):
            total += i * len(words[i % len(words)])
        return total, "-".join(words)


class Filling(nn.Module):
    def forward(self, counts: dict[str, int], n: int) -> int:
        for i in range(n):
            counts[str(i)] = i
        return len(counts)


class Drawing(nn.Module):
    def forward(self, x: Tensor, n: int) -> Tensor:
        for _ in range(n):
            x = x + flambeau.rand(2, 4)
        return x


def reloaded(module: nn.Module) -> Any:
    stream = io.BytesIO()
    flambeau.jit.save(flambeau.script(module), stream)
    return loaded(stream.getvalue())


@pytest.mark.parametrize(("kind", "given"), [(Halves, X), (Numbers, ["a", "bcd"])])
def test_a_loaded_program_with_loops_is_tried_until_one_has_gone_round_often(
    kind: type[nn.Module], given: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLAMBEAU_BACKGROUND", "off")
    module, own = reloaded(kind()), kind()
    with flambeau.no_grad():
        assert str(module(given, 5)) == str(own(given, 5))
        assert (module.explain().first_calls, module.explain().compilations) == (1, ())
        many = reloaded(kind())
        assert str(many(given, 5000)) == str(own(given, 5000))
        assert (many.explain().first_calls, len(many.explain().compilations)) == (0, 1)
        assert str(many(given, 3)) == str(own(given, 3))
        assert str(module(given, 5000)) == str(own(given, 5000))


def test_calls_that_take_long_do_not_wait_for_a_trial_while_a_plan_is_made() -> None:
    module, own = reloaded(Halves()), Halves()
    with flambeau.no_grad():
        for n in (3, 4, 5000, 5):
            assert str(module(X, n)) == str(own(X, n))
    assert module.explain().first_calls <= 2


def test_what_would_be_noticed_is_not_tried() -> None:
    filling, drawing = reloaded(Filling()), reloaded(Drawing())
    assert filling({}, 1000) == 1000
    with flambeau.no_grad():
        flambeau.manual_seed(3)
        first = drawing(X, 300)
        flambeau.manual_seed(3)
        assert flambeau.allclose(Drawing()(X, 300), first, rtol=1e-4)
    assert filling.explain().first_calls == drawing.explain().first_calls == 0


def test_gradients_through_a_loop_that_was_given_up() -> None:
    x = X.clone().requires_grad_()
    reloaded(Halves())(x, 1000).sum().backward()
    y = X.clone().requires_grad_()
    Halves()(y, 1000).sum().backward()
    assert flambeau.allclose(x.grad, y.grad)


class Sums(nn.Module):
    def forward(self, a: float, b: int) -> float:
        return a * b + 2.0


def test_a_loaded_program_of_numbers_without_loops_has_no_plan_for_its_first_call() -> None:
    module = reloaded(Sums())
    assert module(1.5, 3) == 6.5
    assert (module.explain().first_calls, module.explain().compilations) == (1, ())
    assert "answered as the program is written, before there was a plan" in str(module.explain())


def test_the_first_answer_does_not_wait_for_code_of_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    text = LONG_TEXT.replace(
        " return x", " y = flambeau.nn.functional.scaled_dot_product_attention(x, x, x)\n return y"
    )
    made: list[str] = []
    code = rules.code_of.__wrapped__
    monkeypatch.setattr(rules, "code_of", lambda form: (made.append(form.dtype), code(form))[1])
    f = flambeau.CompilationUnit(text).f
    x = flambeau.arange(40.0, dtype=flambeau.float64).reshape(2, 4, 5)
    first = f(x)
    assert not made
    assert flambeau.allclose(f(x), first)
    assert made == ["float64"]
    wide = flambeau.zeros(1, 1 << 10, 1)
    assert flambeau.CompilationUnit(text).f(wide).shape == wide.shape  # too many scores to have them all at once
    assert made == ["float64", "float32"]


def test_graphs_that_ran_are_told() -> None:
    f = compiled(LONG_TEXT)
    f(X)
    assert str(flambeau.jit.last_executed_optimized_graph()) == str(f.graph)
    f(X)
    assert "prim::FusionGroup" in str(flambeau.jit.last_executed_optimized_graph())


def short(count: int) -> str:
    return "def f(x: Tensor):\n" + " x = flambeau.tanh(x)\n" * count + " return x\n"


LOOP = "def f(x: Tensor, n: int):\n for _ in range(n):\n  x = x + 1\n" + STEP * 12 + " return x\n"
BY_SIZE = "def f(x: Tensor):\n for _ in range(len(x)):\n  x = x + 1\n" + STEP * 12 + " return x\n"
OVER_LIST = "def f(x: Tensor, n: List[int]):\n for _ in n:\n  x = x + 1\n" + STEP * 12 + " return x\n"
WHILE = "def f(x: Tensor, n: int):\n while n > 0:\n  n -= 1\n  x = x + 1\n" + STEP * 12 + " return x\n"


def counting(condition: str, step: str = "k + 1", start: str = "0") -> str:
    """A loop that goes on as a condition says, which may end it early."""
    return (
        f"def f(x: Tensor, n: List[int]):\n k = {start}\n most = len(n)\n go = most > 0\n while go:\n"
        f"  x = x + n[0]\n  k = {step}\n  go = {condition}\n" + STEP * 12 + " return x, k\n"
    )


NUMBERS = "def f(x: int):\n" + " x = x * 3 % 7 + 1\n" * 30 + " return x\n"


@pytest.mark.parametrize(
    ("text", "arguments", "is_long"),
    [
        (short(31), (X,), False),
        (short(32), (X,), True),
        (LOOP, (X, 3), False),
        (BY_SIZE, (X,), False),
        (OVER_LIST, (X, [1, 2]), True),
        (WHILE, (X, 3), False),
        (NUMBERS, (3,), False),
        (counting("k < most"), (X, [1, 2]), True),
        (counting("(k < most) & (n[0] > 0)"), (X, [1, 2, 3]), True),
        (counting("k < n[0]"), (X, [2, 2]), False),
        (counting("k < len(n)"), (X, [2, 2]), False),
        (counting("k < most", step="k + n[0]"), (X, [1, 2]), False),
        (counting("k < most", step="k + 4611686018427387904"), (X, [1]), False),
        (counting("k < most", start="n[0]"), (X, [1, 2]), False),
        (counting("(k < most) | (n[0] < 0)"), (X, [1, 2]), False),
    ],
    ids=[
        "31", "32", "loop", "by the size of a tensor", "over list", "while", "numbers", "counted",
        "may end early", "below an item", "below a length of each round", "by an item", "by too much",
        "from an item", "or",
    ],
)
def test_what_is_long(text: str, arguments: tuple[Any, ...], is_long: bool) -> None:
    f = compiled(text)
    f(*arguments)
    assert f.explain().first_calls == is_long


def test_recursion_has_a_plan_at_once() -> None:
    body = " if n == 0:\n  return x\n"
    unit = flambeau.CompilationUnit(f"def f(x: Tensor, n: int) -> Tensor:\n{body}{STEP * 12} return f(x, n - 1)\n")
    unit.f(X, 2)
    assert not unit.f.explain().first_calls


def test_compile_makes_the_plan_beforehand() -> None:
    f = compiled(LONG_TEXT)
    f.compile(X)
    (plan,) = f.explain().compilations
    assert plan.calls == 0
    f(X)
    assert f.explain().first_calls == 0
    assert f.explain().is_native
    module = loaded(saved())
    with flambeau.no_grad():
        module.forward.compile(X)
        module(X)
    assert module.forward.explain().first_calls == 0
    assert module.forward.explain().compilations[0].calls == 1


def test_an_option_turns_it_off() -> None:
    @flambeau.script(tiered=False)
    def f(x: Tensor) -> Tensor:
        x = x.tanh().relu().sigmoid().exp().log().abs().sin().cos().neg().tanh().relu().sigmoid().exp().log().abs()
        x = x.tanh().relu().sigmoid().exp().log().abs().sin().cos().neg().tanh().relu().sigmoid().exp().log().abs()
        return x.sin().cos().neg()

    again = f.with_options(Options())
    f(X)
    again(X)
    assert (f.explain().first_calls, len(f.explain().compilations)) == (0, 1)
    assert (again.explain().first_calls, len(again.explain().compilations)) == (1, 0)
    assert not flambeau.script(Net(), tiered=False).forward.options.tiered


def test_gradients_are_those_of_a_plan() -> None:
    gradients = []
    for is_planned in (False, True):
        module, x = loaded(saved()), X.clone().requires_grad_()
        if is_planned:
            module.forward.compile(x)
        module(x).sum().backward()
        assert module.forward.explain().first_calls == (not is_planned)
        gradients.append((x.grad, module.weight.grad))
    for first, planned in zip(*gradients, strict=True):
        assert flambeau.allclose(first, planned, rtol=1e-5, atol=1e-6)


def test_a_derivative_through_a_number_has_a_plan_at_once() -> None:
    f = compiled("def f(x: Tensor):\n s = float(x[0, 0])\n" + STEP * 12 + " return x * s\n")
    x = flambeau.ones(2, 2, requires_grad=True)
    f(x).sum().backward()
    assert f.explain().first_calls == 0
    with flambeau.no_grad():
        g = compiled("def f(x: Tensor):\n s = float(x[0, 0])\n" + STEP * 12 + " return x * s\n")
        g(x)
    assert g.explain().first_calls == 1


def test_gradients_through_writes_have_a_plan_at_once() -> None:
    f = compiled("def f(x: Tensor):\n y = x.exp()\n z = y * y\n y.mul_(2)\n" + STEP * 12 + " return x + y + z\n")
    x, other = flambeau.zeros(2, requires_grad=True), flambeau.zeros(2, requires_grad=True)
    f(x).sum().backward()  # the tape alone would refuse it: what `z` was computed of is written over
    chain = other
    for _ in range(12):
        chain = flambeau.tanh(chain) * 2 - 1
    (chain + other.exp() * 2 + (other * 2).exp()).sum().backward()
    assert flambeau.allclose(x.grad, other.grad)
    assert f.explain().first_calls == 0


def test_errors_are_those_of_a_plan() -> None:
    texts = []
    for is_planned in (False, True):
        for x in (flambeau.ones(1, 2, 3), flambeau.ones(2, 3)):
            module = loaded(saved())
            with flambeau.no_grad():
                if is_planned:
                    module.forward.compile(x)
                with pytest.raises((RuntimeError, ValueError)) as caught:
                    module(x)
            texts.append(f"{type(caught.value)} {caught.value}")
            assert module.forward.explain().first_calls == (not is_planned)
    assert texts[:2] == texts[2:]
    assert "rows wanted" in texts[0]


def test_a_second_process_reads_the_graphs_and_has_the_plan_once_there_is_one(tmp_path: Path) -> None:
    content = saved()
    with flambeau.no_grad():
        modules = [loaded(content) for _ in range(3)]
        expected = modules[0](X)
        assert flambeau.equal(modules[1](X), expected)
        planned = modules[1](X)
        assert flambeau.allclose(planned, expected, rtol=1e-6, atol=1e-6)
        assert flambeau.equal(modules[2](X), planned)
    said = [m.forward.explain() for m in modules]
    assert [one.first_calls for one in said] == [1, 1, 0]
    assert "read from the cache" in str(said[2])


def test_a_plan_that_a_process_left_is_no_plan_for_other_arguments() -> None:
    content = saved()
    with flambeau.no_grad():
        modules = [loaded(content) for _ in range(3)]
        for _ in range(3):
            modules[0](X)
        answers = [module(x) for module, x in zip(modules[1:], (X, X.double()), strict=True)]
    said = [m.forward.explain() for m in modules[1:]]
    assert [one.first_calls for one in said] == [0, 1]
    assert not said[1].compilations
    assert flambeau.allclose(answers[0], answers[1].float(), rtol=1e-6, atol=1e-6)


def test_what_is_kept_of_graphs_may_be_broken(tmp_path: Path) -> None:
    content = saved()
    with flambeau.no_grad():
        expected = loaded(content)(X)
        entries = list((tmp_path / "cache").rglob("*.object"))
        assert entries
        for number, path in enumerate(entries):
            kept = path.read_bytes()
            path.unlink()
            if number % 3 == 0 and hasattr(os, "mkfifo"):
                os.mkfifo(path)
            elif number % 3 == 1:
                path.write_bytes(kept[: len(kept) // 2])
            else:
                path.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
        assert flambeau.equal(loaded(content)(X), expected)


def test_another_entry_in_its_place_is_no_record_of_graphs() -> None:
    from flambeau.executor.stored import entry_of

    content = saved()
    for wrong in ({"forward": 3}, [1, 2], {}, "graph"):
        module = loaded(content)
        entry = entry_of(module.forward.script_function, "graphs")
        assert entry is not None
        entry.keep(wrong)
        with flambeau.no_grad():
            assert module(X).shape == X.shape


def test_interceptors_see_each_operator_of_any_call() -> None:
    f, seen = compiled(LONG_TEXT), []

    def note(definition: Any, arguments: Any, proceed: Any) -> Any:
        seen.append(definition.name)
        return proceed(arguments)

    from flambeau.tensor.dispatch import intercepting

    with intercepting(note):
        f(X)
    assert len(seen) == 36
    assert f.explain().first_calls == 0
