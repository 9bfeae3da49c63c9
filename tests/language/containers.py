"""Lists, dicts, tuples."""

from __future__ import annotations

from tests.language.rows import accepted, refused

TITLE = "Containers"
ORDER = 40

ROWS = [
    accepted("methods of lists", "def f(x: List[int]):\n    x.append(4)\n    x.extend([1, 2])\n    x.insert(1, 9)\n    a = x.pop()\n    b = x.pop(0)\n    x.remove(9)\n    c = x.copy()\n    x.reverse()\n    c.sort()\n    d = x.count(4), x.index(4)\n    y = c.copy()\n    y.clear()\n    return x, a, b, c, d, y", "f([3, 4])"),
    accepted("sort and sorted", "def f(x: List[str], y: List[float], z: List[Tuple[int, str]]):\n    x.sort()\n    y.sort(reverse=True)\n    return x, y, sorted(z)", "f(['b', 'a'], [1.5, 2.5], [(2, 'a'), (1, 'b')])"),
    accepted("list operators", "def f(x: List[int]):\n    return x + [9], x * 2, 3 * x, [[4]] + [[5]], list(x), list('ab'), list(range(3)), list((1, 2))", "f([1])", torch=False),
    accepted("empty lists and dicts", "def f(n: int):\n    x: List[int] = []\n    d: Dict[str, int] = {}\n    y = jit.annotate(List[str], [])\n    if n > 1:\n        x = []\n    return x, d, y, list(x)", "f(2)"),
    accepted("nested containers", "def f(n: int):\n    d: Dict[str, List[Tuple[int, float]]] = {}\n    for i in range(n):\n        k = str(i % 2)\n        if k not in d:\n            d[k] = []\n        d[k].append((i, i / 2))\n    return d", "f(4)", torch=False),
    accepted("lists are references", "def g(x: List[int]):\n    x.append(1)\ndef f(x: List[int]):\n    y = x\n    g(y)\n    z = [x]\n    z[0].append(2)\n    return x, y is x", "f([])", torch=False),
    accepted("methods of dicts", "def f(d: Dict[str, int]):\n    a = d.get('a'), d.get('z'), d.get('z', 5)\n    b = d.setdefault('n', 7)\n    c = d.pop('a')\n    e = d.pop('q', 3)\n    d.update({'u': 9})\n    g = d.copy()\n    h = d.popitem()\n    k = list(d.keys()), list(d.values()), list(d.items())\n    d.clear()\n    return a, b, c, e, g, h, k, d, len(d)", "f({'a': 1, 'b': 2})", torch=False),
    accepted("dict constructors", "def f(d: Dict[str, int]):\n    return dict(a=1), dict(d), dict(d, b=2), dict([(1, 'x')]), dict(zip(['p'], [2.5]))", "f({'a': 5})"),
    accepted("keys of other types", "def f(n: int, x: float, b: bool):\n    return {n: 'a'}, {x: 1}, {b: 2}", "f(1, 2.5, True)"),
    accepted("augmented dict items", "def f(d: Dict[str, int]):\n    d['a'] += 1\n    d['a'] *= 5\n    d['a'] -= 2\n    return d", "f({'a': 1})"),
    accepted("a missing key", "def f(d: Dict[str, int]):\n    return d['b']", "f({'b': 1})"),
    refused("a missing key raises KeyError", "def f(d: Dict[str, int]):\n    return d['b']", "KeyError", calls=("f({})",)),
    refused("a list index out of range", "def f(x: List[int]):\n    return x[3]", "list index out of range", calls=("f([])",)),
    refused("pop from an empty list", "def f(x: List[int]):\n    return x.pop()", "pop from empty list", calls=("f([])",)),
    refused("remove what is not there", "def f(x: List[int]):\n    x.remove(3)", "list.remove(x): x not in list", calls=("f([])",)),
    refused("index of what is not there", "def f(x: List[int]):\n    return x.index(5)", "'5' is not in list", calls=("f([])",)),
    refused("min of an empty list", "def f(x: List[int]):\n    return min(x)", "empty", calls=("f([])",)),
    refused("a slice with step 0", "def f(x: List[int], n: int):\n    return x[::n]", "should have non-zero step", calls=("f([1], 0)",)),
    accepted("tuple operators", "def f(t: Tuple[int, str]):\n    return t + (1.5,), len(t), t == (1, 'a'), tuple(t), ()", "f((1, 'a'))", torch=False),
    accepted("tuple repetition", "def f(t: Tuple[int, str]):\n    return (1, 2) * 2, t * 2", "f((1, 'a'))", torch=False),
    accepted("count and index of tuples", "def f(t: Tuple[int, int]):\n    return t.count(1), t.index(2)", "f((1, 2))", torch=False),
    accepted("tuple() of a list of known length", "def f(a: int):\n    return tuple([a, 2])", "f(1)", torch=False),
    refused("assignment to a tuple item", "def f(t: Tuple[int, int]):\n    t[0] = 1", "does not support subscripted assignment"),
    refused("augmented tuple item", "def f(t: Tuple[int, int]):\n    t[0] += 1", "does not support augmented assign"),
    refused("a tuple index out of range", "def f(t: Tuple[int, int]):\n    return t[4]", "index out of range"),
    refused("append of another type", "def f(x: List[int]):\n    x.append('a')", "Could not match type str"),
    refused("an item of another type", "def f(d: Dict[str, int]):\n    d['a'] = 'b'", "a Dict[str, int] cannot hold a str"),
    refused("mixed keys", "def f(x: int):\n    return {'a': 1, 2: 3}", "Dicts may only contain homogeneous keys"),
    refused("a list as key", "def f(x: int):\n    return {[x]: 3}", "only int, float, complex, Tensor, device and string keys are supported"),
    accepted("mixed lists are lists of unions", "def f(x: int):\n    y = [x, 'a']\n    z = y[0]\n    assert isinstance(z, int)\n    return z + 1, y", "f(1)"),
    accepted("a dict of tensors", "def f(d: Dict[str, Tensor]):\n    return {k: v.sum() for k, v in d.items()}", "f({'a': flambeau.ones(2)})"),
    accepted("lists of tensors", "def f(x: List[Tensor]):\n    return flambeau.stack(x), flambeau.cat([v * 2 for v in x]), [v.shape[0] for v in x]", "f([flambeau.ones(2), flambeau.zeros(2)])", torch=False),
    accepted("passed by value", "def f(x: List[int]):\n    x.append(1)\n    return x", "f([0])", "(lambda l: (f(l), l))([0])", differs=("[0, 1]", "([0, 1], [0])"), why="lists of Python are copied"),
    accepted("passed by reference", "def f(x: List[int]):\n    x.append(1)\n    return len(x)", "(lambda l: (f(l), list(l)))(jit.script([0]))"),
    accepted("dict passed by reference", "def f(x: Dict[str, int]):\n    x['n'] = len(x)\n    return len(x)", "(lambda d: (f(d), dict(d.items())))(jit.script({'a': 5}))"),
]
