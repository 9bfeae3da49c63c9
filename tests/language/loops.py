"""Loops and what they leave behind."""

from __future__ import annotations

from tests.language.rows import accepted, refused

TITLE = "Loops with else, endless loops"
ORDER = 12

ROWS = [
    accepted("zip of what a tuple holds", "def f(x: Tuple[List[int], List[str]], n: int):\n    return [f'{p}{q}' for p, q in zip(*x)], [p + q * r for p, q, r in zip(range(n), *([1, 2], [3, 4]))]", "f(([1, 2], ['a', 'b']), 2)", torch=False),
    accepted("the columns of a list of lists, or of tuples", "def f(rows: List[List[int]], points: List[Tuple[int, float]]):\n    a, b = zip(*points)\n    return [sum(c) for c in zip(*rows)], len(list(zip(*rows))), sum(a), max(b), [len(c) for c in zip(*points)]", "f([[1, 2, 3], [4, 5]], [(1, 2.0), (3, 0.5)])", "f([], [(1, 0.5)])", torch=False),
    refused("zip of a list's rows and more", "def f(rows: List[List[int]]):\n    return [a for a in zip([1], *rows)]", "zip(*rows) takes the rows of one list, and nothing else"),
    accepted("zip of one length", "def f(x: List[int], y: List[int]):\n    try:\n        return [a * b for a, b in zip(x, y, strict=True)]\n    except ValueError as e:\n        print(e)\n        return [0]", "f([1, 2], [3, 4])", "f([1], [3, 4])", "f([1, 2], [3])", torch=False),
    accepted("variables of a loop with else", "def f(x: List[int], v: int):\n    for i, e in enumerate(x):\n        if e == v:\n            at = i\n            break\n    else:\n        at = -1\n    return at", "f([4, 5], 5)", "f([4, 5], 6)", torch=False),
    accepted("a loop with else that returns", "def f(x: List[int], v: int):\n    for i, e in enumerate(x):\n        if e == v:\n            break\n    else:\n        return \"none\"\n    return str(i) + str(e)", "f([4, 5], 5)", "f([4, 5], 6)", torch=False),
    accepted("while with else and variables", "def f(n: int):\n    i = 2\n    while i * i <= n:\n        if n % i == 0:\n            divisor = i\n            break\n        i += 1\n    else:\n        divisor = n\n    return divisor", "f(15)", "f(13)", torch=False),
    accepted("variables behind while True", "def f(n: int):\n    while True:\n        m = n * 2\n        if m > 10:\n            r = \"big\"\n            break\n        n += 1\n    return r, m", "f(1)", "f(200)", torch=False),
    accepted("break and continue in a loop over a tuple", "def f(n: int):\n    t = 0\n    for di in (-1, 0, 1):\n        for name, w in (('a', 2), ('b', 3), ('c', 5)):\n            if di + w < n:\n                continue\n            if name == 'c':\n                break\n            t += w * di\n    for v in (True, False):\n        if v:\n            continue\n        return t, v\n    return t, True", "f(0)", "f(3)", "f(9)", torch=False),
    accepted("a loop over a tuple with else", "def f(x: float):\n    for v in (1.5, 2.5):\n        if v > x:\n            break\n    else:\n        return -1.0\n    return v", "f(2.0)", "f(3.0)", torch=False),
    refused("break in a loop over a tuple of several types", "def f(n: int):\n    for v in (1, 2.0):\n        if v == n:\n            break\n    return n", "we do not support break or continue inside the body of these loops"),
    refused("a variable that not every break leaves", "def f(n: int):\n    while True:\n        if n > 10:\n            r = 1\n            break\n        if n > 5:\n            break\n        n += 1\n    return r", "cannot access local variable 'r' where it is not associated with a value", calls=("f(6)",), kind=UnboundLocalError, torch=False),
]
