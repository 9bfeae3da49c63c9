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
    refused("overloads without implementation", "@jit._overload\ndef g(x: int) -> int: ...\ndef f(x: int):\n    return g(x)", 'g" is missing. Please make sure a definition is provided'),
    refused("an overload without types", "@jit._overload\ndef g(x): ...\ndef g(x):\n    return x\ndef f(x: int):\n    return g(x)", "Parameters not specified on overloads"),
    refused("an overload with another default", "@jit._overload\ndef g(x: int, y: int = 3) -> int: ...\ndef g(x, y=2):\n    return x + y\ndef f(x: int):\n    return g(x)", "must equal to the default parameter"),
    refused("an overloaded function compiled by itself", "@jit._overload\ndef f(x: int) -> int: ...\ndef f(x):\n    return x", "cannot be directly compiled"),
    refused("a call that fits no overload", "@jit._overload\ndef g(x: int) -> int: ...\n@jit._overload\ndef g(x: float) -> float: ...\ndef g(x):\n    return x\ndef f(x: str):\n    return g(x)", "but instead found type 'str'"),
    accepted("overloads with defaults", "@jit._overload\ndef g(x: int) -> int: ...\n@jit._overload\ndef g(x: str, n: int = 2) -> str: ...\ndef g(x, n=2):\n    if isinstance(x, int):\n        return x + 1\n    else:\n        return x + str(n)\ndef f(x: int):\n    return g(x), g('a'), g('a', 5), g('b', n=1)", "f(1)", torch=False),
    accepted("keyword-only parameters with defaults", "def g(a: int, *, b: int = 5) -> int:\n    return a - b\ndef f(a: int, *, b: int = 2):\n    return a - b, g(a), g(a, b=b)", "f(1)", "f(1, b=3)", torch=False),
    accepted("positional-only parameters", "def g(a: int, /, b: int) -> int:\n    return a - b\ndef f(a: int, /, b: int):\n    return g(a, b=b)", "f(5, 2)", torch=False),
    accepted("*args", "def g(a: int, *rest: int):\n    t = a\n    for v in rest:\n        t = t * 10 + v\n    return t, len(rest)\ndef f(a: int):\n    return g(a), g(a, 1, 2)", "f(4)", torch=False),
    accepted("**kwargs", "def h(a: int, b: int = 2, c: int = 3) -> int:\n    return a * 100 + b * 10 + c\ndef g(a: int, **options: int):\n    return h(a, **options)\ndef f(a: int):\n    return g(a), g(a, c=7), g(a, b=5, c=6)", "f(4)", torch=False),
    accepted("*args of several types", "def show(*parts):\n    r = ''\n    for p in parts:\n        r += str(p) + ';'\n    return r\ndef f(a: int, s: str):\n    return show(a, s), show()", "f(4, 'x')", torch=False),
    accepted("a function as an argument of a Python function", "def twice(g, x: int):\n    return g(g(x))\ndef inc(x: int) -> int:\n    return x + 1\ndef f(x: int):\n    return twice(inc, x)", "f(1)", torch=False),
    accepted("functools.partial", "from functools import partial\ndef g(a: int, b: int, c: int = 0) -> int:\n    return a * 100 + b * 10 + c\nh = partial(g, 1, c=5)\ndef f(x: int):\n    return h(x)", "f(4)", torch=False),
    accepted("what a nested function reads, it reads when called", "def f(x: int):\n    def g() -> int:\n        return x * 10\n    a = g()\n    x = x + 1\n    return a, g()", "f(1)", torch=False),
    accepted("a nested function that changes a list around it", "def f(n: int):\n    seen: List[int] = []\n    def note(v: int, twice: bool = False):\n        seen.append(v)\n        if twice:\n            seen.append(v)\n    for i in range(n):\n        note(i, twice=i == 1)\n    return seen", "f(3)", torch=False),
    accepted("nested functions with early returns, in loops", "def f(n: int):\n    t = 0\n    for i in range(n):\n        def sign(v):\n            if v % 2 == 0:\n                return -1\n            return i\n        t += sign(i) * 10 + sign(i + 1)\n    return t", "f(4)", torch=False),
    accepted("nested functions calling each other", "def f(n: int):\n    def a(v: int) -> int:\n        return v + 1\n    def b(v: int) -> int:\n        return a(v) * n\n    return [b(i) for i in range(n)]", "f(3)", torch=False),
    accepted("one nested function for several types", "def f(n: int):\n    twice = lambda v: v + v\n    return twice(n), twice('a'), twice(1.5), twice([n])", "f(3)", torch=False),
    accepted("a lambda as key, with a variable", "def f(x: List[int], m: int):\n    return sorted(x, key=lambda v: v % m), max(x, key=lambda v: -v)", "f([5, 3, 9, 4], 3)", torch=False),
    accepted("map and filter", "def f(x: List[int]):\n    return list(map(lambda v: v * 2, x)), [v for v in filter(lambda v: v > 1, x)], sum(map(int, ['1', '2']))", "f([1, 2, 3])", torch=False),
    accepted("**kwargs looked at", "def g(**o):\n    n = 0\n    for k, v in o.items():\n        n += len(k) * v\n    return n, 'a' in o, o.get('b', 7), len(o), [k for k in o]\ndef f(x: int):\n    return g(a=x, cc=2), g()", "f(3)", torch=False),
    accepted("*args passed on", "def h(a: int, b: int, c: int = 0):\n    return a * 100 + b * 10 + c\ndef g(first, *rest, **options):\n    return h(first, *rest, **options)\ndef f(x: int):\n    return g(x, 2), g(x, 2, c=5), g(x, 2, 3)", "f(1)", torch=False),
    refused("*args where nobody says what they are", "def f(*args):\n    return args", "variable number of arguments", "*args"),
    accepted("operators written in Python", "if flambeau.schema.registry.overloads('rows::clip'):\n    clip = flambeau.ops.rows.clip\nelse:\n    @jit.custom_op('rows::clip(Tensor x, float low, *, float high=1.0) -> Tensor')\n    def clip(x, low, high):\n        return x.clamp(low, high)\ndef f(x: Tensor):\n    return clip(x, 0.25), clip(x, low=-1.0, high=0.5)", "f(flambeau.tensor([-2.0, 0.5, 3.0]))", torch=False),
    refused("an operator in a namespace of the package", "@jit.custom_op('aten::mine(Tensor x) -> Tensor')\ndef f(x):\n    return x", "belongs to the package", kind=ValueError, torch=False),
    accepted("generators", "def squares(n: int):\n    for i in range(n):\n        if i == 7:\n            return\n        yield i * i\ndef f(n: int):\n    t = 0\n    for v in squares(n):\n        if v > 20:\n            break\n        t += v\n    return t, sum(squares(3)), list(squares(2))", "f(9)", torch=False),
    accepted("yield from, several types, an annotated generator", "from typing import Iterator\ndef pairs(x: List[int]) -> Iterator[Tuple[int, str]]:\n    for v in x:\n        if v < 0:\n            return\n        yield v, str(v)\ndef twice(x: List[int]):\n    yield from x\n    yield from [v * 10 for v in x]\ndef f(x: List[int]):\n    return [s + str(n) for n, s in pairs(x)], [v for v in twice(x)]", "f([1, 2, -1, 3])", "f([])", torch=False),
    refused("yield as an expression", "def f(x: int):\n    y = yield x\n    return y", "Yield aren't supported", torch=True),
    accepted("a lambda with a variable as an argument", "def apply(fn, x):\n    return fn(fn(x))\ndef f(x: float, k: float):\n    def add(v):\n        return v + k\n    return apply(lambda v: add(v) * k + 1, x), apply(math.sqrt, x), apply(add, x)", "f(4.0, 0.5)", torch=False),
    accepted("recursion", "def fact(n: int) -> int:\n    return 1 if n < 2 else n * fact(n - 1)\ndef f(n: int):\n    return fact(n)", "f(5)", torch=False),
    accepted("mutual recursion", "def even(n: int) -> bool:\n    return True if n == 0 else odd(n - 1)\ndef odd(n: int) -> bool:\n    return False if n == 0 else even(n - 1)\ndef f(n: int):\n    return even(n)", "f(5)", "f(4)", torch=False),
    accepted("recursion over lists, with tensors", "def total(x: List[int], i: int = 0) -> int:\n    if i == len(x):\n        return 0\n    return x[i] + total(x, i + 1)\ndef power(x: Tensor, n: int) -> Tensor:\n    if n == 0:\n        return flambeau.ones_like(x)\n    half = power(x, n // 2)\n    return half * half * x if n % 2 else half * half\ndef f(n: int):\n    return total([i for i in range(n)]), power(flambeau.tensor([2.0, 3.0]), n), power(flambeau.tensor([2.0]), n + 1)", "f(5)", "f(5)", "f(5)", "f(9)", torch=False),
]
ROWS += [
    accepted("functions inside functions that call each other, passed on and in try", "def apply(fn, v: int) -> int:\n    return fn(v)\ndef f(n: int, log: List[str]):\n    def g(p: int) -> int:\n        log.append('g')\n        return p + n\n    def h(p: int) -> int:\n        return g(p) * n\n    t = h(1)\n    try:\n        t += apply(g, n) + apply(h, 1)\n    finally:\n        t += h(2)\n    return t, log", "f(3, [])", torch=False),
    accepted("raise alone, in a try inside of a handler", "def f(n: int, log: List[str]):\n    try:\n        try:\n            if n > 3:\n                raise ValueError(f'got {n}')\n        except ValueError:\n            try:\n                raise\n            finally:\n                log.append('again')\n    except Exception as e:\n        log.append(str(e))\n    return log", "f(1, [])", "f(5, [])", torch=False),
    accepted("what fails in a try fails there, used or not", "def f(d: Dict[str, int], x: List[int], s: str, n: int):\n    r: List[str] = []\n    try:\n        a = d[s]\n        b = 10 // n\n        c = int(s)\n        e = x[n]\n        r.append('all')\n    except KeyError:\n        r.append('key')\n    except IndexError:\n        r.append('index')\n    except ZeroDivisionError:\n        r.append('zero')\n    except ValueError:\n        r.append('value')\n    return r", "f({'7': 1}, [1, 2], '7', 1)", "f({'a': 1}, [1], 'a', 1)", "f({}, [1], 'a', 1)", "f({'a': 1}, [1], 'a', 0)", "f({'7': 1}, [1], '7', 4)", torch=False),
    accepted("tasks of lambdas and functions inside", "def f(x: int):\n    def g(k: int) -> int:\n        return k * x\n    return jit.wait(jit.fork(g, 4)) + jit.wait(jit.fork(lambda v: v + x, 1))", "f(2)", torch=False),
    accepted("errors of tasks come out where they are waited for", "def g(x: int) -> int:\n    if x > 2:\n        raise ValueError('big')\n    return x\ndef f(x: int):\n    a = jit.fork(g, x)\n    y = 5\n    try:\n        y = jit.wait(a)\n    except ValueError:\n        y = -1\n    b = jit.fork(g, x)\n    return y, x", "f(1)", "f(3)", torch=False),
]
ROWS += [
    accepted("what a finally assigns when an exception leaves several blocks", "def f(n: int):\n    t = 0\n    try:\n        try:\n            try:\n                t += 1\n                if n > 2:\n                    raise ValueError('a')\n            finally:\n                t += 10\n        except KeyError:\n            t += 100\n        t += 1000\n    except ValueError:\n        t += 10000\n    return t", "f(1)", "f(5)", torch=False),
    accepted("asking futures, and waiting for several", "def g(x: int) -> int:\n    return x + 1\ndef f(x: int):\n    tasks = [jit.fork(g, x), jit.fork(g, 2)]\n    both = flambeau.futures.collect_all(tasks)\n    return flambeau.futures.wait_all(tasks), tasks[0].done(), [t.wait() for t in both.wait()]", "f(3)", torch=False),
    refused("a callback of a future", "def g(x: int) -> int:\n    return x + 1\ndef f(x: int):\n    a = jit.fork(g, x)\n    return a.then(lambda t: t.wait()).wait()", "a future in a program has no 'then': fork a function that waits for it"),
    refused("completing a future", "def g(x: int) -> int:\n    return x + 1\ndef f(x: int):\n    a = jit.fork(g, x)\n    a.set_result(1)\n    return a.wait()", "a future in a program has no 'set_result': Python completes futures; return the value instead"),
    refused("making a future", "def f(x: int):\n    a = flambeau.futures.Future()\n    return x", "programs make no objects of class 'Future'. Make it outside, and pass what it gives"),
    refused("wait_all of something else", "def f(x: List[int]):\n    return flambeau.futures.wait_all(x)", "wait_all expects a list of futures, but this is a List[int]"),
]
