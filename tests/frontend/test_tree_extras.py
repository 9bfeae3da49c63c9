"""Trees of what TorchScript's trees do not have print like the others."""

from __future__ import annotations

import pytest

from flambeau.frontend.trees.function_conversion import get_tree

SOURCES = {
    "lambda": ("def f(x):\n    return lambda y, *z, k=3, **o: y + x\n", "(lambda"),
    "nested function": ("def f(x):\n    def g(y: int = 2):\n        return y\n    return g(x)\n", "(def"),
    "comprehension": ("def f(x):\n    return [a for b in x for a in b if a if b]\n", "(comprehension"),
    "dict comprehension": ("def f(x):\n    return {a: b for a, b in x if b}\n", "(clause"),
    "walrus": ("def f(x):\n    return (y := x) + y\n", "(walrus"),
    "set": ("def f(x):\n    return x in {1, 2}\n", "(set-literal"),
    "format": ("def f(x):\n    return f'{x:.2f} {x!r}'\n", "(formatted"),
    "plus": ("def f(x):\n    return +x\n", "(unary plus"),
    "import": ("def f(x):\n    import math as m\n    from os import path, sep\n    return m.pi\n", "(import math"),
    "try": (
        "def f(x):\n    try:\n        y = 1\n    except (ValueError, KeyError) as e:\n        raise\n    else:\n"
        "        y = 2\n    finally:\n        x = 3\n    return y\n",
        "(except",
    ),
    "match": (
        "def f(x):\n    match x:\n        case [1, *r] if r:\n            return r\n        case {'a': b}:\n"
        "            return b\n        case int() | None:\n            return 1\n",
        "(length",
    ),
    "yield": ("def f(x):\n    yield x\n    yield from x\n    yield\n", "(yield"),
    "loop with else": (
        "def f(x):\n    for i in x:\n        break\n    else:\n        return 1\n    return 2\n",
        "(for",
    ),
}


@pytest.mark.parametrize(("source", "shown"), SOURCES.values(), ids=SOURCES)
def test_trees_print_and_know_their_places(source: str, shown: str) -> None:
    tree = get_tree(source)
    text = str(tree)
    assert shown in text
    assert text.count("(") == text.count(")")
    for part in tree.walk():
        assert tree.range.start <= part.range.start <= part.range.end <= len(source)
