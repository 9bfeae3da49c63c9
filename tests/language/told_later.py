"""Empty lists and dicts, and None, whose type what follows tells."""

from __future__ import annotations

from tests.language.rows import accepted, refused

TITLE = "Types that are told later"
ORDER = 42

ROWS = [
    accepted("a list, by what is appended", "def f(n: int):\n    x = []\n    for i in range(n):\n        x.append(i * 2)\n    return x", "f(3)", "f(0)", torch=False),
    accepted("in branches", "def f(n: int):\n    x = []\n    if n > 2:\n        x.append(n)\n    else:\n        x.insert(0, -n)\n    return x", "f(3)", "f(1)", torch=False),
    accepted("by a function it is passed to", "def g(x: List[str]):\n    x.append(\"a\")\ndef f(n: int):\n    x = []\n    g(x)\n    return x", "f(3)", torch=False),
    accepted("by what the function returns", "def f(n: int) -> List[int]:\n    x = []\n    return x", "f(3)", torch=False),
    accepted("by a list that is assigned later", "def f(n: int):\n    x = []\n    if n > 1:\n        x = [n]\n    return x", "f(3)", "f(0)", torch=False),
    accepted("by extend, + and +=", "def f(n: int):\n    x, y, z = [], [], list()\n    x.extend([n, 2])\n    y += [\"a\"]\n    z = z + [0.5]\n    return x, y, z", "f(3)", torch=False),
    accepted("lists of lists", "def f(n: int):\n    rows = []\n    for i in range(n):\n        row = []\n        for j in range(i):\n            row.append(float(i * j))\n        rows.append(row)\n    return rows", "f(3)", torch=False),
    accepted("started anew in a loop", "def f(n: int):\n    parts, part = [], []\n    for i in range(n):\n        part.append(i)\n        if i % 2 == 1:\n            parts.append(part)\n            part = []\n    return parts, part", "f(5)", torch=False),
    accepted("a stack that is read before it is written", "def f(n: int):\n    s = []\n    k = 0\n    while k < n:\n        if len(s) > 0:\n            t: int = s[-1]\n            k += t\n        s.append(k + 1)\n        k += 1\n    return s", "f(9)", torch=False),
    accepted("a dict, by its first entry", "def f(words: List[str]):\n    count = {}\n    for w in words:\n        count[w] = count.get(w, 0) + 1\n    return count", "f([\"a\", \"b\", \"a\"])", torch=False),
    accepted("a dict of lists", "def f(words: List[str]):\n    d, e = {}, dict()\n    for w in words:\n        if len(w) not in d:\n            d[len(w)] = []\n        d[len(w)].append(w)\n        e.setdefault(w, []).append(len(w))\n    return d, e", "f([\"a\", \"bb\", \"c\"])", torch=False),
    accepted("in a nested function and in try", "def f(n: int):\n    x, y = [], []\n    def add(v: int):\n        x.append(v)\n    for i in range(n):\n        add(i)\n    try:\n        y.append(10 // (n - 1))\n    except ZeroDivisionError:\n        y.append(-1)\n    return x, y", "f(1)", "f(3)", torch=False),
    accepted("in a constructor", "class A:\n    def __init__(self, n: int):\n        self.x = []\n        for i in range(n):\n            self.x.append(i)\ndef f(n: int):\n    return A(n).x", "f(3)", torch=False),
    accepted("None and something later", "def f(x: List[int]):\n    best = None\n    for v in x:\n        if best is None or v < best:\n            best = v\n    return best", "f([])", "f([3, 1, 2])", torch=False),
    accepted("without any hint, tensors", "def f(x: Tensor):\n    y = []\n    z = []\n    for i in range(2):\n        y.append(x * i)\n    return flambeau.stack(y), z", "f(flambeau.ones(2))"),
    refused("two types in one list", "def f(n: int):\n    x = []\n    x.append(n)\n    x.append(\"a\")\n    return x", "Could not match type str"),
    accepted("None in several places", "def f(x: List[float], n: int):\n    lo, hi = None, None\n    for v in x:\n        if lo is None or v < lo:\n            lo = v\n        if hi is None or v > hi:\n            hi = v\n    slots = [None] * n\n    for i in range(n):\n        if i % 2 == 0:\n            slots[i] = i\n    return lo, hi, slots", "f([], 0)", "f([1.5, 0.5], 3)", torch=False),
    accepted("a loop that ends when something is found", "def f(n: int):\n    found = None\n    i = 0\n    while found is None:\n        i += 1\n        if i * i > n:\n            found = i\n    return found + 1", "f(10)", torch=False),
]
