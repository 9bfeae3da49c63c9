"""Texts."""

from __future__ import annotations

from tests.language.rows import accepted, refused

TITLE = "Texts"
ORDER = 45

ROWS = [
    accepted("case", "def f(s: str):\n    return s.upper(), s.lower(), s.capitalize(), s.title(), s.swapcase()", "f('heLLo wOrld')"),
    accepted("tests", "def f(s: str):\n    return s.isalnum(), s.isalpha(), s.isdecimal(), s.isdigit(), s.isidentifier(), s.islower(), s.isnumeric(), s.isprintable(), s.isspace(), s.istitle(), s.isupper()", "f('abc')", "f('12')", "f('')", "f('A b')", "f(' \\n')"),
    accepted("search", "def f(s: str):\n    return s.find('l'), s.rfind('l'), s.find('z'), s.index('l'), s.rindex('l'), s.count('l'), s.find('l', 3), s.startswith('he'), s.endswith('lo')", "f('hello')"),
    accepted("search up to before the end", "def f(s: str, n: int):\n    return s.find('o', 0, n), s.rfind('l', 1, n), s.count('l', 0, -1), s.startswith('hello', 0, n), s.endswith(('l', 'o'), 0, -1), s.find('l', None, 2)", "f('hello', -1)", "f('hello', -2)", "f('hello', 5)", "f('', -1)", torch=False),
    accepted("white space of all kinds", "def f(s: str):\n    return s.strip(), s.lstrip(), s.rstrip(), s.strip('\\r'), s.split()", "f('\\r\\n a b\\r\\n')", "f('\\u00a0q\\u2003')", torch=False),
    accepted("parts", "def f(s: str):\n    return s.split(), s.split(','), s.split(',', 1), s.rsplit(',', 1), s.partition(','), s.rpartition(','), s.splitlines()", "f('a,b,c')", "f(' x  y\\nz')"),
    accepted("strip, pad, replace, join", "def f(s: str):\n    return s.strip(), s.lstrip('x'), s.rstrip(), s.center(9, '*'), s.ljust(8), s.rjust(8, '.'), s.zfill(7), s.replace('a', 'bb'), s.replace('a', 'b', 1), ','.join([s, s]), s.expandtabs(4)", "f(' xaa\\t')", "f('-12')", torch=False),
    accepted("removeprefix, casefold, translate", "def f(s: str):\n    return s.removeprefix('ab'), s.removesuffix('ba'), s.casefold(), s.isascii()", "f('ababa')", torch=False),
    accepted("repetition", "def f(s: str, n: int):\n    return s * n, 2 * s", "f('ab', 3)", torch=False),
    accepted("startswith with a tuple", "def f(s: str):\n    return s.startswith(('a', 'b'))", "f('bc')", torch=False),
    accepted("% formatting", "def f(s: str, n: int, x: float):\n    return '%s has %d' % (s, n), '%f %e %c%%' % (x, x, 'q'), '%s' % s", "f('a', 3, 2.5)"),
    accepted("% formatting with widths", "def f(n: int, x: float):\n    return '%5d|%-5d|%05.1f|%x|%g' % (n, n, x, n, x)", "f(31, 2.55)", torch=False),
    accepted("format", "def f(s: str, n: int):\n    return '{} {}'.format(s, n), ''.format()", "f('a', 3)"),
    accepted("format with fields", "def f(s: str, x: float):\n    return '{0} {1:.2f} {0!r} {name:>5}'.format(s, x, name=s)", "f('a', 3.14159)", torch=False),
    accepted("str of values", "def f(n: int, b: bool, s: str):\n    return str(n), str(b), str(s), str(None), str([1, 2]), str((1, 2))", "f(-3, True, 'x')"),
    accepted("str of floats", "def f(x: float):\n    return str(x), f'{x}', '%s' % x, '{}'.format(x)", "f(1.0)", "f(0.1)", differs=("('1.', '1.', '1.', '1.')", "('0.10000000000000001', '0.10000000000000001', '0.10000000000000001', '0.10000000000000001')"), why="numbers print as in graph text; `repr(x)` and formats are Python's"),
    accepted("str of texts in containers", "def f(s: str):\n    return str([s]), str({s: 1}), str((s, None))", "f('a')", differs=("('[a]', '{a: 1}', '(a, None)')",), why="texts print without quotes"),
    accepted("repr", "def f(s: str):\n    return repr(s), repr(1.5), repr([1])", "f('a')", torch=False),
    accepted("iteration and indexing", "def f(s: str):\n    r = ''\n    for c in s:\n        r = c + r\n    return r, s[0], s[-1], s[1:], list(s), [c for c in s], len(s)", "f('abc')"),
    accepted("escapes", "def f(n: int):\n    return 'a\\tb\\n', r'a\\n', 'é\\u20ac', '''x\ny''', 'a' 'b'", "f(1)"),
    refused("an unknown specifier", "def f(n: int):\n    return '%a' % n", "The specifier %a is not supported in TorchScript format strings", calls=("f(1)",)),
    refused("a text for a number", "def f(s: str):\n    return '%d' % s", "%d requires a number for formatting, but got String", calls=("f('a')",)),
    refused("too few arguments for a format", "def f(s: str):\n    return '%s %s' % s", "Too few arguments for format string", calls=("f('a')",)),
    refused("too many arguments for a format", "def f(s: str):\n    return '%s' % (s, s)", "Too many arguments for format string", calls=("f('a')",)),
    refused("an incomplete format", "def f(s: str):\n    return '%s %' % s", "Incomplete format specifier", calls=("f('a')",)),
    accepted("int() and float() of texts with blanks and underscores", "def f(s: str):\n    return int(s), float(s)", "f(' 14 ')", "f('1_000\\n')", "f('-7')", torch=False),
    refused("int() of what is no number", "def f(s: str):\n    return int(s)", "invalid literal for int()", calls=("f('a')",)),
    refused("float() of what is no number", "def f(s: str):\n    return float(s)", "could not convert string to float", calls=("f('a')",)),
    refused("an empty separator", "def f(s: str):\n    return s.split('')", "empty separator", calls=("f('a')",)),
    accepted('join of map', 'def f(xs: List[int]):\n    return ",".join(map(str, xs)), "".join(map(str, range(3))), "-".join(sorted(map(str, xs)))', 'f([10, 2])', 'f([])', torch=False),
]
