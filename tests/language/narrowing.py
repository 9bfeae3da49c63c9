"""Variables that are known to be narrower than they were declared, and containers that take on the type expected of them."""

from __future__ import annotations

from tests.language.rows import accepted, refused

TITLE = "Narrower than declared, and wider again"
ORDER = 31

ROWS = [
    accepted("a union behind a branch that asked for its type", "def f(u: Union[int, str], n: int):\n    if isinstance(u, str):\n        n += len(u)\n    else:\n        n += u\n    return str(n) + u if isinstance(u, str) else str(n + u)", "f('ab', 1)", "f(3, 1)", torch=False),
    accepted("a union behind match", "def f(u: Union[int, str], n: int):\n    match u:\n        case int():\n            n += 1\n        case str():\n            n -= 1\n    return n + u if isinstance(u, int) else n", "f('ab', 1)", "f(3, 1)", torch=False),
    accepted("members of a union assigned in both branches", "def f(u: Union[int, str]):\n    if isinstance(u, int):\n        u = str(u)\n    else:\n        u = len(u)\n    return u if isinstance(u, str) else 'number'", "f('ab')", "f(3)", torch=False),
    accepted("None again, in a branch", "def f(x: Optional[int], n: int):\n    if x is None:\n        return n\n    if n > 2:\n        x = None\n    return n if x is None else x", "f(None, 1)", "f(5, 1)", "f(5, 3)", torch=False),
    accepted("None again, in a loop that is entered without", "class Node:\n    def __init__(self, n: int, then: 'Optional[Node]'):\n        self.n = n\n        self.then = then\ndef f(n: int):\n    node: Optional[Node] = None\n    for i in range(n):\n        node = Node(i, node)\n    if node is None:\n        return -1\n    total = 0\n    while node is not None:\n        total = total * 10 + node.n\n        node = node.then\n    return total", "f(0)", "f(4)", torch=False),
    accepted("None again, in loops in each other", "def f(x: Optional[int], n: int):\n    assert x is not None\n    r = x\n    for i in range(n):\n        while x is not None:\n            r += x\n            x = x - 1 if x > 0 else None\n        if i % 2 == 0:\n            x = i\n    return r", "f(3, 0)", "f(3, 4)", torch=False),
    accepted("None again, in try", "def g(x: Optional[int], n: int):\n    assert x is not None\n    r = x\n    try:\n        x = None\n        r = 10 // n\n        x = r\n    except ZeroDivisionError:\n        r = -1\n    return r, x\ndef f(n: int):\n    return g(3, n)", "f(0)", "f(5)", torch=False),
    accepted("what stays narrow in a loop", "def f(x: Optional[int], n: int):\n    if x is None:\n        x = 1\n    for i in range(n):\n        x = x * 2 + i\n    return x + 1", "f(None, 3)", "f(2, 2)", torch=False),
    refused("what it was never declared as", "def f(x: Optional[int], n: int):\n    assert x is not None\n    for i in range(n):\n        x = 'a'\n    return x", "Variable 'x' previously had type int but is now being assigned to a value of type str"),
    accepted("is None of what := assigns", "def f(d: Dict[str, int], k: str):\n    if (v := d.get(k)) is not None and v > 1:\n        return v + 1\n    return -1", "f({'a': 2}, 'a')", "f({'a': 1}, 'a')", "f({}, 'a')", torch=False),
    accepted("a list literal where a list of optional values is expected", "def g(x: List[Optional[int]], y: Dict[str, List[Union[int, str]]]):\n    return x, y\ndef f(n: int):\n    return g([n, 2], {'a': [n], 'b': ['x', 'y']})", "f(1)", torch=False),
    accepted("a comprehension where a list of optional values is expected", "def g(x: List[Optional[int]], y: List[List[Optional[int]]]):\n    x.append(None)\n    return x, y\ndef f(n: int):\n    return g([i * 2 for i in range(n)], [[i] for i in range(n) if i > 1])", "f(3)", torch=False),
    accepted("a literal that is put into a list of lists", "def f(n: int):\n    x: List[List[Optional[int]]] = [[n]]\n    x.append([n, 3])\n    x[0].append(None)\n    x.insert(0, [i for i in range(n)])\n    return x", "f(2)", torch=False),
    accepted("objects of a subclass in a list of their base", "class A:\n    def __init__(self, n: int):\n        self.n = n\n    def f(self) -> int:\n        return self.n\nclass B(A):\n    def f(self) -> int:\n        return -self.n\ndef total(x: List[A]):\n    return sum([a.f() for a in x])\ndef f(n: int):\n    return total([B(n)]) + total([A(n), B(n), A(2)])", "f(3)", torch=False),
    refused("a list that has a name", "def g(x: List[Optional[int]]):\n    return len(x)\ndef f(n: int):\n    y = [n]\n    return g(y)", "Expected a value of type 'List[Optional[int]]' for argument 'x' but instead found type 'List[int]'"),
    accepted("a comprehension for one list of a union", "def f(n: int):\n    u: Union[int, List[int], str] = [i for i in range(n)]\n    w: Union[int, List[int]] = [i for i in range(n) if i > 1]\n    v: Union[int, Dict[int, str]] = {i: 'a' for i in range(n)}\n    return u, v, w", "f(3)", torch=False),
]
