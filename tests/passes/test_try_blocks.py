"""`try` blocks become branches where tests tell what would be raised: what is caught, and what was assigned."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor

HEAD = "from typing import *\nimport numpy as np\n"
INTS = [3, 0, -2, 9, 1, -7, 0, 5]

COUNTED = {
    "a division": "t += 100 // v",
    "a remainder, two handlers": "t += 100 % v",
    "a quotient": "t += int(6 / v)",
    "an item": "t += xs[v]",
    "an item that is set": """\
xs[v] = t
            t += 1""",
    "an item from the end": "t += xs[v - 4]",
    "a raise": """\
if v > 3:
                raise ValueError(f'{v} is too large')
            t += v""",
    "a raise without a text": """\
if v > 3:
                raise KeyError
            t += v""",
    "a place in a list": "t += xs.index(v)",
    "what is taken out of a list": """\
ys = xs[:5]
            ys.remove(v)
            t += len(ys)""",
    "an int in a text": "t += int(str(v) if v > 0 else f'{v}.')",
    "a float in a text": "t += int(float(str(v) + ('e' if v < 0 else '')))",
    "an assertion": """\
assert v > 0, 'negative'
            t += v""",
    "an assertion without a text": """\
assert v > 0
            t += v""",
    "a whole number of a float": "t += int(float(v) * 1e300 * 1e10)",
    "a whole number of nan": "t += int(float(v) * 1e300 * 1e10 * 0.0)",
    "what is assigned before": """\
t += 1000
            t += 100 // v
            t += 5""",
    "a branch": """\
if v % 2 == 0:
                t += 8 // v
            else:
                t -= xs[v]
            t += 1""",
    "a loop": """\
for k in range(4):
                t += 12 // (k - v)
            t += 7""",
    "a while": """\
k = 11
            while True:
                k -= 1
                t += 12 // (k - v)""",
    "a loop that is left": """\
for k in range(5):
                if k == v:
                    break
                t += xs[k + v]""",
    "the turn is over": """\
if v == 9:
                continue
            t += 6 // v""",
    "the loop is over": """\
if v == 1:
                break
            t += 6 // v""",
    "the function is over": """\
if v == 1:
                return t
            t += 6 // v""",
    "the function is over in a loop": """\
for k in range(3):
                if k == v:
                    return t * 10
                t += 6 // (v - k)""",
    "a new variable": """\
q = 60 // v
            t += q""",
    "a call": "t += divided(60, v)",
    "another block": """\
try:
                t += 60 // v
            except IndexError:
                t += 1
            t += xs[v]""",
    "another block that takes it": """\
try:
                t += 60 // v
            except ZeroDivisionError:
                t += xs[v + 9]
            t += xs[v]""",
    "nothing raises": "t += v",
    "a list that grows": """\
xs.append(v)
            t += xs[v]""",
    "the last is taken": """\
xs.pop()
            t += len(xs) + 3 // v""",
}
HANDLERS = {
    "any": """\
except:
            bad += 1""",
    "several": """\
except (ZeroDivisionError, IndexError, ValueError):
            bad += 1
        except (ArithmeticError, LookupError):
            bad += 100
        except AssertionError:
            bad += 10000""",
    "and else": """\
except ArithmeticError as e:
            bad += 1
        except Exception:
            bad += 7
        else:
            t += 3""",
    "only one": """\
except ZeroDivisionError:
            bad += 1""",
}


def program(body: str, handler: str) -> str:
    return HEAD + textwrap.dedent(
        """
        def divided(a: int, b: int) -> int:
            if a < 0:
                raise ValueError('negative')
            return a // b

        def f(vs: List[int], xs: List[int]) -> int:
            t = 0
            bad = 0
            for v in vs:
                try:
                    {body}
                {handler}
            return t * 1000003 + bad
        """
    ).format(body=body, handler=handler)


def load(source: str, name: str = "try.py") -> dict[str, Any]:
    import linecache

    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"__name__": "tests.try_programs"}
    exec(compile(source, name, "exec"), namespace)
    return namespace


def outcome(call: Any, *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("body", COUNTED)
def test_a_loop_of_try_blocks_means_what_python_does(body: str, handler: str, tmp_path: Any) -> None:
    source = program(COUNTED[body], HANDLERS[handler])
    namespace = load(source, f"{tmp_path}/try.py")
    expected = outcome(namespace["f"], list(INTS), list(range(8)))
    for backend in ("interpreter", "native") if handler == "several" else ("interpreter",):
        script = flambeau.script(namespace["f"], backend=backend, verify=True)
        found = outcome(script, list(INTS), list(range(8)))
        assert found == expected or (isinstance(expected, str) and isinstance(found, str)), backend
    graph = str(script.graph_for(list(INTS), list(range(8))))
    assert "^try" not in graph, graph


def roots(x: np.ndarray, places: list[int]) -> float:
    total = 0.0
    for k in places:
        try:
            x[k] = x[k] * 2.0 + np.sqrt(x[k - 1])
            total += x[k] / x[k + 1]
        except IndexError:
            total -= 1.0
        except Exception:
            return -1.0
    return total


def test_elements_of_arrays_are_asked_for_by_their_places() -> None:
    places = [0, 5, -3, 2, -6, 7, 4]
    for dtype in (np.float64, np.float32):
        ours, theirs = np.arange(5, dtype=dtype), np.arange(5, dtype=dtype)
        script = flambeau.script(roots, verify=True)
        with np.errstate(all="ignore"):
            expected = roots(theirs, places)
        assert script(ours, places) == pytest.approx(expected, rel=1e-6)
        assert np.array_equal(ours, theirs)
        assert "^try" not in str(script.graph_for(ours, places))
        assert "native from end to end" in str(script.explain())


def looked_up(d: dict[int, int], keys: list[int]) -> int:
    total = 0
    for k in keys:
        try:
            total += d[k]
            del d[k]
        except KeyError:
            total -= 1
    return total


def test_keys_are_looked_for() -> None:
    script = flambeau.script(looked_up, verify=True)
    assert script({1: 10, 2: 20}, [1, 1, 3, 2]) == 28
    assert "^try" not in str(script.graph_for({1: 10}, [1]))


def kept(x: Tensor, n: int) -> Tensor:
    last = x
    for k in range(n):
        try:
            last = last + x[6 // (k - 2)]
        except ZeroDivisionError:
            pass
        except IndexError:
            last = last * 2
    return last


def test_tensors_that_are_assigned_and_gradients() -> None:
    x = flambeau.arange(4.0).requires_grad_()
    script = flambeau.script(kept, verify=True)
    assert script(x.detach(), 6).tolist() == kept(x.detach(), 6).tolist()
    (ours,) = flambeau.autograd.grad(script(x, 6).sum(), x)
    (theirs,) = flambeau.autograd.grad(kept(x, 6).sum(), x)
    assert ours.tolist() == theirs.tolist()


def worded(n: int) -> str:
    try:
        return str(10 // n)
    except ZeroDivisionError as error:
        return "no" + str(error)[:0]


def put_right(n: int) -> int:
    total = 0
    try:
        total += 10 // n
    finally:
        total += 1
    return total


def of_rows(x: Tensor) -> float:
    try:
        return float(x.reshape(2, 3).sum())
    except RuntimeError:
        return -1.0


@pytest.mark.parametrize(("function", "argument"), [(worded, 0), (put_right, 5), (of_rows, flambeau.ones(5))])
def test_what_only_running_tells_stays_a_call(function: Any, argument: Any) -> None:
    script = flambeau.script(function, verify=True)
    assert script(argument) == function(argument)
    assert "^try" in str(script.graph_for(argument))


def test_what_no_handler_takes_says_where_it_was() -> None:
    @flambeau.script
    def f(xs: list[int], k: int) -> int:
        total = 0
        for v in xs:
            try:
                total += xs[k] // v
            except ZeroDivisionError:
                total += 1
        return total

    assert f([1, 0], 0) == 2
    with pytest.raises(RuntimeError, match=r"(?s)xs\[k\] // v.*index out of range"):
        f([1, 0], 5)
