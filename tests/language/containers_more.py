"""Lists, dicts and tuples, beyond what TorchScript has of them."""

from __future__ import annotations

from tests.language.rows import accepted, refused

TITLE = "Containers as in Python"
ORDER = 41

ROWS = [
    accepted("defaultdict", "from collections import defaultdict\ndef f(x: List[str]):\n    d, places = defaultdict(int), defaultdict(list)\n    for i, w in enumerate(x):\n        d[w] += 1\n        places[w].append(i)\n    return dict(d), dict(places), d['absent']", "f(['a', 'b', 'a'])", "f(['c'])", torch=False),
    accepted("Counter", "from collections import Counter\ndef f(x: List[str]):\n    c = Counter(x)\n    c.update('ab')\n    return c.most_common(2), c['absent'], dict(c)", "f(['a', 'b', 'a'])", torch=False),
    refused("a defaultdict as a result", "from collections import defaultdict\ndef f(x: List[str]):\n    d = defaultdict(int)\n    for w in x:\n        d[w] += 1\n    return d", "a defaultdict stays in the function that makes it: return dict(...) of it, and make a defaultdict of that outside"),
    accepted("itertools", "import itertools\ndef f(x: List[int]):\n    return list(itertools.chain(x, x)), list(itertools.accumulate(x)), [b - a for a, b in itertools.pairwise(x)]", "f([1, 3, 2])", torch=False),
    accepted("itertools.product, combinations, permutations", "from itertools import combinations, permutations, product\ndef f(x: List[int], n: int):\n    a = [p * q for p, q in product(x, range(n))]\n    b = [(i, j) for i, j in combinations(range(n), 2)]\n    return a, b, list(permutations(x, 2)), list(product(x, repeat=2))", "f([1, 2], 3)", "f([5], 0)", torch=False),
    accepted("permutations and the like of any count, whose items are lists", "import itertools\nfrom itertools import combinations, combinations_with_replacement, permutations, product\ndef f(x: List[int], r: int):\n    a = [''.join([str(v) for v in p]) for p in combinations(x, r)] + [''.join([str(v) for v in p]) for p in permutations(x, r)]\n    b = [''.join([str(v) for v in p]) for p in combinations_with_replacement(x, r)] + [''.join([str(v) for v in p]) for p in product(x, repeat=r)]\n    return a, b, [p[0] for p in permutations(x)] if len(x) > 0 else []", "f([1, 2, 3], 2)", "f([1, 2, 3], 3)", "f([1, 2], 0)", "f([1, 2], 3)", "f([], 1)", torch=False),
    refused("combinations of a count that is not said", "import itertools\ndef f(x: List[int]):\n    return list(itertools.combinations(x))", "itertools.combinations takes what it picks from, and how many, in programs"),
    accepted("assignment to a slice of a list", "def f(x: List[int]):\n    x[1:3] = [7, 8, 9]\n    x[::2] = x[::2][::-1]\n    x[:0] = (5, 6)\n    x[-1:] = range(2)\n    return x", "f([1, 2, 3, 4])", "f([1])", torch=False),
    accepted("augmented slice of a list", "def f(x: List[int]):\n    x[1:2] += [5, 6]\n    x[-1:] *= 2\n    return x", "f([1, 2, 3, 4])", torch=False),
    accepted("del with a slice", "def f(x: List[int]):\n    del x[1:3], x[-1]\n    s = slice(0, 1)\n    del x[s]\n    return x", "f([1, 2, 3, 4, 5])", torch=False),
    refused("a step and a count that do not fit", "def f(x: List[int]):\n    x[::2] = [1]\n    return x", "attempt to assign sequence of size 1 to extended slice of size 2", calls=("f([1, 2, 3])",)),
    refused("assignment to a slice of a dict", "def f(x: Dict[str, int]):\n    x[0:1] = [1]", "Sliced expression not yet supported for subscripted assignment"),
    accepted("tuples as keys", "def f(n: int, d: Dict[Tuple[int, int], float]):\n    e = {(n, \"a\"): 1}\n    e[2, \"b\"] = 3\n    e[n, \"a\"] += 1\n    d[n, n] = 0.5\n    s = 0.0\n    for (a, b), v in d.items():\n        s += a * b * v\n    return e, (n, \"a\") in e, (7, \"a\") in e, e.get((0, \"z\"), -1), d, s", "f(1, {(1, 2): 3.0})", torch=False),
    accepted("enums as keys", "from enum import Enum\nclass Color(Enum):\n    RED = 1\n    GREEN = 2\ndef f(d: Dict[Color, int]):\n    d[Color.GREEN] = d.get(Color.RED, 0) + 1\n    return d[Color.GREEN], Color.RED in d, {Color.RED: \"r\"}[Color.RED]", "f({Color.RED: 5})", torch=False),
    refused("a list in a key", "def f(n: int):\n    return {(n, [1]): 1}", "Cannot create dict for key type"),
    refused("a key that is a tuple and not there", "def f(n: int):\n    d = {(n, 2): 1}\n    return d[n, 3]", "KeyError: (1, 3)", calls=("f(1)",)),
    accepted("extend with anything that can be looped over", "def f(x: List[int], d: Dict[int, int]):\n    x.extend(range(2))\n    x.extend((7, 8))\n    x.extend(v * 2 for v in [1, 2])\n    x.extend(d)\n    return x", "f([1], {5: 6})", torch=False),
    accepted("sort with a key", "def f(x: List[Tuple[int, str]]):\n    x.sort(key=lambda t: t[1])\n    y = x.copy()\n    y.sort(key=lambda t: t[0], reverse=True)\n    return x, y", "f([(1, \"b\"), (2, \"a\")])", torch=False),
    accepted("update with pairs and keywords", "def f(d: Dict[str, int]):\n    d.update({\"u\": 9})\n    d.update([(\"w\", 1)])\n    d.update(u=10, v=3)\n    d.update(zip([\"p\"], [4]))\n    return d", "f({\"a\": 1})", torch=False),
    accepted("index from a place on", "def f(x: List[int], y: List[List[int]]):\n    return x.index(3, 1), x.index(3, 0, 3), y.index([1])", "f([3, 4, 3], [[2], [1]])", torch=False),
    accepted("a starred target of a list", "def f(x: List[int]):\n    a, *b = x\n    *c, d = x\n    g, *h, i = x\n    return a, b, c, d, g, h, i", "f([1, 2, 3, 4])", "f([1, 2])", torch=False),
    refused("a list that is too short for its targets", "def f(x: List[int]):\n    a, b, *c = x\n    return a, b", "not enough values to unpack (expected at least 2, got 1)", calls=("f([1])",)),
    accepted("unpacking a text", "def f(s: str):\n    a, b = s\n    return b + a", "f(\"xy\")", torch=False),
    accepted("min and max of texts and tuples, and their default", "def f(x: List[int], s: List[str]):\n    return max(\"a\", \"b\"), min((1, 2), (1, 1)), max(x, default=-1), min(s, default=\"q\")", "f([], [])", "f([4, 5], [\"z\", \"y\"])", torch=False),
    accepted("a tuple of a generator over a tuple", "def f(t: Tuple[int, str]):\n    return tuple(str(v) for v in t)", "f((1, \"a\"))", torch=False),
    accepted("sum of tensors, rows and lists", "def f(x: Tensor, xs: List[Tensor], d: Dict[str, Tensor]):\n    return sum(x), sum(x, 2), sum(xs), sum(v * 2 for v in xs), sum(d.values(), start=1.5), sum((x, x)), sum([[1], [2, 3]], [0])", "f(flambeau.arange(6).reshape(2, 3), [flambeau.ones(2), flambeau.ones(1)], {'a': flambeau.ones(2)})", torch=False),
    refused("sum of texts", "def f(x: List[str]):\n    return sum(x)", "sum() can't sum strings [use ''.join(seq) instead]"),
    accepted("sum from a start", "def f(x: List[int], y: List[float]):\n    return sum(x, 10), sum(y, 0.5)", "f([1, 2], [1.5])", torch=False),
    accepted("OrderedDict", "from collections import OrderedDict\ndef f(n: int):\n    d = OrderedDict([(\"a\", n)])\n    d[\"b\"] = 2\n    return list(d.items())", "f(1)", torch=False),
    accepted("_replace of a named tuple", "class P(NamedTuple):\n    a: int\n    b: Optional[str] = None\n    c: List[int] = []\ndef f(n: int):\n    p = P(n)\n    q = p._replace(a=5, b=\"z\")\n    return q, q._fields, p == q, p == P(n)", "tuple(map(list, f(1)[:2])) + f(1)[2:]", torch=False),
    refused("_replace of what is no field", "class P(NamedTuple):\n    a: int\ndef f(n: int):\n    return P(n)._replace(c=1)", "_replace() got an unexpected field name 'c'"),
    accepted("== with an Optional", "def f(a: Optional[int], b: Optional[str], u: Union[int, str]):\n    return a == 3, 3 != a, b == \"x\", a == a, u == \"q\"", "f(3, None, \"q\")", "f(None, \"x\", 1)", torch=False),
    accepted("set(x) to count, sort and test", "def f(x: List[str], n: int):\n    s = set(x)\n    t = 0\n    for v in s:\n        t += len(v)\n    return \"a\" in s, \"q\" in set(x), len(s), sorted(s), t, sum(set([n, n])), max(frozenset(x))", "f([\"a\", \"bb\", \"a\"], 3)", torch=False),
    accepted("membership in a tuple of several types", "def f(n: int, s: str):\n    return n in (1, \"a\"), s in (1, \"a\"), n not in (\"a\", 2.0)", "f(1, \"a\")", "f(2, \"b\")", torch=False),
    accepted("equal numbers have equal hashes", "def f(n: int):\n    return hash(float(n)) == hash(n), hash(0.5) == hash(0.5)", "f(3)", torch=False),
    accepted("reversed texts", "def f(s: str):\n    return \"\".join(reversed(s)), list(reversed(s))", "f(\"abc\")", torch=False),
    accepted("join, any and all of whatever can be looped over", "class Words:\n    def __init__(self, words: List[str]):\n        self.words = words\n    def __iter__(self):\n        return iter(self.words)\ndef f(d: Dict[str, int], s: str, t: Tuple[str, str]):\n    seen = set(d)\n    return '-'.join(d), '-'.join(s), '-'.join(t), len('-'.join(seen)), '+'.join(x for x in s), '/'.join(Words([s, s])), any(d), all(seen), any({0})", "f({'a': 1, 'b': 2}, 'xyz', ('p', 'q'))", torch=False),
]
