"""Functions inside functions, and functions as things."""

from __future__ import annotations

from tests.language.rows import accepted, refused

TITLE = "Closures"
ORDER = 49

ROWS = [
    accepted("nonlocal", "def f(n: int):\n    count, seen = 0, \"\"\n    def note(k: int):\n        nonlocal count, seen\n        count += k\n        if k > 1:\n            return count\n        seen += str(k)\n        return count\n    r = [note(i) for i in range(n)]\n    while count < 20:\n        note(5)\n    return count, seen, r", "f(3)", "f(0)", torch=False),
    accepted("nonlocal through two functions", "def f(n: int):\n    c = 0\n    def inc():\n        nonlocal c\n        c += 1\n    def twice():\n        inc()\n        inc()\n    for _ in range(n):\n        twice()\n    return c", "f(3)", torch=False),
    accepted("nonlocal of a variable in between", "def f(n: int):\n    c = 1\n    def outer(k: int):\n        c = 100\n        def inner():\n            nonlocal c\n            c += k\n        inner()\n        return c\n    return outer(n), c", "f(3)", torch=False),
    accepted("nonlocal, seen after an exception", "def f(n: int):\n    c = 0\n    def g():\n        nonlocal c\n        c = 5\n        if n > 1:\n            raise ValueError(\"a\")\n        c = 6\n    try:\n        g()\n    except ValueError:\n        return -c\n    return c", "f(1)", "f(2)", torch=False),
    accepted("a function with nonlocal as an argument", "def twice(k):\n    k()\n    k()\ndef f(n: int):\n    c = 0\n    def g():\n        nonlocal c\n        c += n\n    twice(g)\n    return c", "f(3)", torch=False),
    accepted("names mean what they mean where a function was written", "def f(n: int):\n    x = 1\n    def g():\n        return x\n    def h(x: int):\n        return g() + x\n    def k():\n        x = \"abc\"\n        return h(len(x)) + g()\n    return h(10), k(), (lambda x: g() * x)(7)", "f(1)", torch=False),
    accepted("a nested function that calls itself", "def f(n: int):\n    memo: Dict[int, int] = {}\n    def fib(k: int) -> int:\n        if k not in memo:\n            memo[k] = k if k < 2 else fib(k - 1) + fib(k - 2)\n        return memo[k]\n    return fib(n), len(memo)", "f(20)", torch=False),
    accepted("nested functions that call each other", "def f(n: int):\n    def even(m: int) -> bool:\n        return True if m == 0 else odd(m - 1)\n    def odd(m: int) -> bool:\n        return False if m == 0 else even(m - 1)\n    return even(n), odd(n)", "f(5)", torch=False),
    accepted("a nested function in try", "def f(n: int):\n    k = 3\n    def g(x: int):\n        return x // k\n    try:\n        k = n\n        return g(10)\n    except ZeroDivisionError:\n        return -1", "f(0)", "f(5)", torch=False),
    accepted("a list of functions", "def g(x: int):\n    return x + 1\ndef f(n: int, k: int):\n    fs = [g, lambda x: x * 2, abs]\n    for h in fs:\n        n = h(n)\n    return n, fs[0](n), fs[k](n), fs[-1](-3), len(fs), [h(5) for h in fs]", "f(1, 0)", "f(1, 1)", "f(1, 2)", torch=False),
    accepted("a function chosen by a condition", "def g(x: int):\n    return x + 1\ndef f(n: int):\n    k = g if n > 1 else lambda x: x * 10\n    return k(n), (math.sqrt if n > 1 else math.exp)(2.0)", "f(1)", "f(3)", torch=False),
    refused("a choice of functions with different results", "def g(x: int):\n    return x + 1\ndef h(x: int):\n    return \"a\"\ndef f(n: int):\n    return (g if n > 1 else h)(n)", "the functions that are chosen among return str and int: they have to return one type"),
    accepted("reduce", "from functools import reduce\ndef f(x: List[int]):\n    return reduce(lambda a, b: a * b, x), reduce(lambda a, b: a + b, x, 10), reduce(max, x)", "f([1, 2, 3])", torch=False),
    refused("reduce of nothing", "from functools import reduce\ndef f(x: List[int]):\n    return reduce(lambda a, b: a * b, x)", "reduce() of empty iterable with no initial value", calls=("f([])",)),
    refused("recursion of a nested function that does not say what it returns", "def f(n: int):\n    def g(m: int):\n        return g(m - 1)\n    return g(n)", "function 'g' is called recursively. Recursive calls are not supported"),
    accepted("partial of values", "import functools\ndef h(a: int, b: int, c: int = 3):\n    return a * 100 + b * 10 + c\np = functools.partial(h, 1, c=5)\ndef f(x: int, l: List[int]):\n    q = functools.partial(h, x)\n    return p(x), q(2), q(2, c=9), list(map(q, l)), sorted(l, key=functools.partial(h, -x))", "f(4, [2, 1])", torch=False),
    accepted("keywords as a dict, and seen by a lambda", "def g(**o):\n    h = lambda k: o[\"a\"] * k\n    return dict(o), h(2)\ndef f(x: int):\n    return g(a=x, b=2)", "f(4)", torch=False),
]
