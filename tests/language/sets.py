"""Sets: Python's own, of items that can be hashed."""

from __future__ import annotations

from tests.language.rows import accepted, refused

TITLE = "Sets"
ORDER = 43

ROWS = [
    accepted("a set that is filled", "def f(xs: List[int]):\n    seen = set()\n    out = []\n    for x in xs:\n        if x not in seen:\n            seen.add(x)\n            out.append(x)\n    return out, len(seen), seen, sorted(seen), 3 in seen, sum(seen), max(seen), bool(seen)", "f([3, 1, 3, 2])", "f([1])", torch=False),
    accepted("displays and comprehensions", "def f(n: int):\n    s = {n, 2, 3, n}\n    t = {i * i % 7 for i in range(n) if i != 2}\n    u = {*t}\n    return s, t, u == t, len({(1, 2), (n, 2)}), {1, 2} == {2, 1}, set() == set(), {str(n): s}", "f(1)", "f(6)", torch=False),
    accepted("parameters and results", "def g(xs: List[str]):\n    return set(xs)\ndef f(s: Set[int], t: 'set[int]') -> Set[int]:\n    s.add(len(g([\"a\", \"b\", \"a\"])))\n    return s | t", "f({1}, {5})", "f(set(), set())", torch=False),
    accepted("operators", "def f(a: Set[int], b: Set[int]):\n    return a | b, a & b, a - b, a ^ b, a == b, a != b, a <= b, a < b, a >= b, a > b", "f({1, 2}, {2, 3})", "f({1}, {1, 2})", "f({1}, {1})", torch=False),
    accepted("operators in place change the set itself", "def f(a: Set[int]):\n    b = a\n    a |= {7}\n    a -= {1}\n    c = {1, 2, 7}\n    c &= a\n    c ^= {100}\n    return a, b, c", "f({1, 2})", torch=False),
    accepted("methods", "def f(a: Set[int], n: int):\n    b = a.copy()\n    b.update([n, n + 1], {50})\n    b.discard(1000)\n    b.remove(50)\n    b.intersection_update(range(9))\n    more = a.union([9], (8, 7)), a.intersection(b), a.difference([1]), a.symmetric_difference({1, 99})\n    tests = a.issubset(b), b.issuperset(a), a.isdisjoint([77]), a.union()\n    c = {n}\n    last = c.pop()\n    a.clear()\n    return b, more, tests, last, len(a)", "f({1, 2}, 3)", torch=False),
    accepted("items in loops and unpacked", "def f(s: Set[int]):\n    t = 0\n    for v in s:\n        t += v\n    a, b = s\n    pairs = [i * v for i, v in enumerate(s)]\n    return t, [v + 1 for v in s], a + b, pairs, list(s), any(s), all(s), min(s), [w for v, w in zip(s, s)]", "f({1, 2})", torch=False),
    accepted("in branches, loops, nested functions and try", "def f(n: int):\n    def add(k: int):\n        s.add(k)\n    def has(t, k: int):\n        return k in t\n    s = set([1])\n    add(n)\n    try:\n        s.add(50)\n        if n > 2:\n            raise ValueError(\"x\")\n    except ValueError:\n        s.add(60)\n    if n > 4:\n        s = {9}\n    else:\n        s.add(8)\n    while len(s) < 6:\n        s.add(len(s) * 11)\n    return s, has(s, 9), has({4}, 9)", "f(1)", "f(3)", "f(5)", torch=False),
    accepted("in attributes, dicts and lists", "class Graph:\n    def __init__(self):\n        self.seen = set()\n        self.edges: Dict[int, Set[int]] = {}\n    def add(self, a: int, b: int):\n        self.seen |= {a, b}\n        if a not in self.edges:\n            self.edges[a] = set()\n        self.edges[a].add(b)\n    def reach(self, a: int) -> Set[int]:\n        done: Set[int] = set()\n        todo = [a]\n        while len(todo) > 0:\n            x = todo.pop()\n            if x not in done:\n                done.add(x)\n                todo.extend(self.edges.get(x, set()))\n        return done\ndef f(n: int):\n    g = Graph()\n    for i in range(n):\n        g.add(i, (i * 2) % n)\n    return g.reach(1), g.seen, g.edges, [len(s) for s in [{1}, {2, n}]]", "f(7)", torch=False),
    accepted("text of sets", "def f(n: int):\n    return str({n}), f\"{ {n} }\", str(set([n][:0])), str([{n}])", "f(3)", torch=False),
    accepted("frozensets where they are made", "def f(n: int):\n    return n in frozenset([1, 2]), len(frozenset([n, n]))", "f(1)", torch=False),
    refused("a frozenset as a value", "def f(n: int):\n    s = frozenset([n])\n    return n in s", "frozenset, which is understood where it is looked at at once", torch=False),
    refused("items of two types", "def f(n: int):\n    return {n, 'a'}", "all items of a set have one type, but here are int and str"),
    refused("items that cannot be hashed", "def f(n: int):\n    return {[n]}", "the items of a set must be hashable, not List[int]"),
    refused("adding what cannot be hashed", "def f(n: int):\n    s = set()\n    s.add([n])", "the items of a set must be hashable, not List[int]", torch=False),
    refused("sets of tensors", "def f(s: Set[Tensor]):\n    return len(s)", "the items of a set must be hashable, not Tensor", "Set[Tensor]"),
    refused("methods that sets do not have", "def f(s: Set[int]):\n    s.append(3)", "'Set' object has no attribute or method 'append'", "s.append"),
    refused("a wrong number of arguments", "def f(s: Set[int]):\n    s.add(1, 2)", "add() of a set takes 1 arguments", "s.add"),
    refused("an item by position", "def f(s: Set[int]):\n    return s[0]", "'Set[int]' object is not subscriptable", "s[0]"),
    refused("a star among other items", "def f(s: Set[int]):\n    return {*s, 1}", "Write set(x) | {a, b}", "*s"),
    refused("removing what is not there", "def f(s: Set[int]):\n    s.remove(5)", "KeyError: 5", calls=("f({1})",)),
    refused("an item of an empty set", "def f(s: Set[int]):\n    return s.pop()", "pop from an empty set", calls=("f(set())",)),
    refused("a list for a set", "def f(s: Set[int]):\n    return len(s)", "Expected a value of type 'Set[int]' for argument 's' but instead found type 'List[int]'", calls=("f([1])",)),
    accepted("isinstance", "def f(s: Optional[Set[int]], x: Any):\n    n = len(s) if isinstance(s, set) else -1\n    return n, isinstance(x, set), isinstance(x, (int, set)), isinstance(x, (int, list))", "f({1}, {2})", "f(None, [2])", "f(set(), 1)", torch=False),
    accepted("empty sets where another type is known", "def f(s: Optional[Set[int]], xs: List[str]):\n    t = s if s is not None else set()\n    u = set() if s is None else s\n    by: Dict[int, Set[str]] = {}\n    for x in xs:\n        by.setdefault(len(x), set()).add(x)\n    return t, u, by, jit.annotate(Set[float], set())", "f({1}, [\"a\", \"bb\"])", "f(None, [])", torch=False),
    refused("set without what is in it", "def f(s: set):\n    return len(s)", "Attempted to use Set without a contained type", "set"),
]
