"""Functions: calls, defaults, overloads, functions left to Python, tasks."""

from __future__ import annotations

from tests.language.rows import accepted, refused

TITLE = "Functions"
ORDER = 48

ROWS = [
    accepted("calls of functions", "def g(x: int, y: int = 2) -> int:\n    return x * 10 + y\ndef f(x: int):\n    return g(x), g(x, 3), g(y=1, x=x)", "f(4)"),
    accepted("defaults", "def f(a: int, b: float = 2.5, c: Optional[str] = None, d: Tuple[int, int] = (1, 2), e: bool = True):\n    return a, b, c, d, e", "f(1)", "f(1, c='x', e=False)"),
    accepted("a tensor as default", "K = flambeau.ones(2)\ndef f(a: Tensor, b: Tensor = K):\n    return a + b", "f(flambeau.ones(2))"),
    accepted("keyword-only parameters", "def f(a: int, *, b: int):\n    return a - b", "f(1, b=2)"),
    accepted("a function in a variable", "def g(x: int) -> int:\n    return x + 1\ndef f(x: int):\n    h = g\n    return h(x)", "f(1)"),
    accepted("decorators that return the function", "import functools\ndef deco(fn):\n    @functools.wraps(fn)\n    def inner(*a):\n        return fn(*a)\n    return inner\n@deco\ndef f(x: int):\n    return x + 1", "f(1)"),
    accepted("closures over numbers", "def make(k: int):\n    def g(x: int) -> int:\n        return x + k\n    return g\nf = make(3)", "f(1)", torch=False),
    accepted("overloads", "from typing import overload\n@jit._overload\ndef g(x: int) -> int: ...\n@jit._overload\ndef g(x: str) -> str: ...\ndef g(x):\n    if isinstance(x, int):\n        return x + 1\n    else:\n        return x + '!'\ndef f(x: int):\n    return g(x), g('a')", "f(1)", torch=False),
    accepted("ignore", "@jit.ignore\ndef g(x: int) -> int:\n    return eval('x + 1')\ndef f(x: int):\n    return g(x) * 2", "f(1)"),
    refused("unused", "@jit.unused\ndef g(x: int) -> int:\n    return eval('x + 1')\ndef f(x: int):\n    return g(x) * 2", "This Python function is annotated to be ignored and cannot be run", calls=("f(1)",), kind=Exception),
    accepted("unused in a branch that is not taken", "@jit.unused\ndef g(x: int) -> int:\n    return eval('x + 1')\ndef f(x: int):\n    if x > 5:\n        return g(x)\n    return x", "f(1)"),
    refused("an ignored function that returns something else", "@jit.ignore\ndef g(x: int) -> int:\n    return (x, x)\ndef f(x: int):\n    return g(x) * 2", "but instead got value of type tuple", calls=("f(1)",)),
    accepted("fork and wait", "def g(x: int) -> int:\n    return x + 1\ndef f(x: int):\n    a = jit.fork(g, x)\n    b = jit.fork(g, x=10)\n    return jit.wait(a) + b.wait()", "f(1)"),
    accepted("lists of futures", "def g(x: int) -> int:\n    return x + 1\ndef f(n: int):\n    tasks: List[jit.Future[int]] = []\n    for i in range(n):\n        tasks.append(jit.fork(g, i))\n    return [jit.wait(t) for t in tasks]", "f(3)"),
    accepted("fork of an operator", "def f(x: Tensor):\n    return jit.wait(jit.fork(flambeau.neg, x))", "f(flambeau.ones(2))"),
    accepted("nested forks", "def h(x: int) -> int:\n    return x * 2\ndef g(x: int) -> int:\n    return jit.wait(jit.fork(h, x)) + 1\ndef f(x: int):\n    return jit.wait(jit.fork(g, x))", "f(5)"),
    accepted("awaitables", "def g(x: int) -> int:\n    return x + 1\ndef f(x: int):\n    a = jit._awaitable(g, x)\n    b = jit._awaitable_nowait(5)\n    return jit._awaitable_wait(a) + jit._awaitable_wait(b)", "f(1)"),
    refused("fork of what cannot be called", "def f(x: Tensor):\n    return jit.fork(x)", "cannot call a value"),
    accepted("random numbers", "def f(n: int):\n    g = flambeau.Generator()\n    g.manual_seed(n)\n    return flambeau.rand(3, generator=g)", "f(1)", torch=False),
    accepted("manual_seed", "def f(n: int):\n    flambeau.manual_seed(n)\n    return flambeau.rand(3)", "f(1)", torch=False),
    refused("mutable defaults", "def f(x: List[int] = []):\n    return x", "Mutable default parameters are not supported"),
    refused("a default of another type", "def f(x: int = 'a'):\n    return x", "Expected a default value of type int on parameter \"x\""),
    refused("a missing argument of a callee", "def g(x: int, y: int) -> int:\n    return x\ndef f(x: int):\n    return g(x)", "Argument y not provided."),
    refused("a builtin of another module", "import random\ndef f(x: int):\n    return random.randint(1, 2)", "randint", torch=False),
    refused("async functions", "async def f(x: int):\n    return x", "Expected a single top-level function", torch=False),
    refused("a nested class", "def f(x: int):\n    class A:\n        pass\n    return x", "class definitions aren't supported"),
]
ROWS += [
    refused("an overload with a body", "@jit._overload\ndef g(x: int) -> int:\n    return x\ndef g(x):\n    return x\ndef f(x: int):\n    return g(x)", "Only `pass` statement or `...` can be the body"),
    refused("overloads without implementation", "@jit._overload\ndef g(x: int) -> int: ...\ndef f(x: int):\n    return g(x)", 'Implementation for the function "g" is missing'),
    refused("an overload without types", "@jit._overload\ndef g(x): ...\ndef g(x):\n    return x\ndef f(x: int):\n    return g(x)", "Parameters not specified on overloads"),
    refused("an overload with another default", "@jit._overload\ndef g(x: int, y: int = 3) -> int: ...\ndef g(x, y=2):\n    return x + y\ndef f(x: int):\n    return g(x)", "must equal to the default parameter"),
    refused("an overloaded function compiled by itself", "@jit._overload\ndef f(x: int) -> int: ...\ndef f(x):\n    return x", "cannot be directly compiled"),
    refused("a call that fits no overload", "@jit._overload\ndef g(x: int) -> int: ...\n@jit._overload\ndef g(x: float) -> float: ...\ndef g(x):\n    return x\ndef f(x: str):\n    return g(x)", "but instead found type 'str'"),
    accepted("overloads with defaults", "@jit._overload\ndef g(x: int) -> int: ...\n@jit._overload\ndef g(x: str, n: int = 2) -> str: ...\ndef g(x, n=2):\n    if isinstance(x, int):\n        return x + 1\n    else:\n        return x + str(n)\ndef f(x: int):\n    return g(x), g('a'), g('a', 5), g('b', n=1)", "f(1)", torch=False),
]
