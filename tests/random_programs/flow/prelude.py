"""The functions and classes that generated programs use, as source."""

PRELUDE = '''\
from typing import Any


class Oops(ValueError):
    pass


class Deep(Oops):
    pass


class Room:
    """Says in a list when it is entered and left, and how."""

    def __init__(self, log: list[str], name: str):
        self.log = log
        self.name = name

    def __enter__(self) -> int:
        self.log.append("into " + self.name)
        return len(self.log)

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.log.append("out of " + self.name)


def count_up(n: int, step: int = 1):
    i = 0
    while i < n:
        if i == 5:
            return
        yield i * step
        i += 1


def pairs_of(values: list[int]):
    for i, v in enumerate(values):
        if v % 4 == 0:
            continue
        yield i, v
    yield -1, len(values)


def both(values: list[int], n: int):
    yield from values
    yield from count_up(n, 10)


def fold(first: int, *rest: int) -> int:
    t = first
    for v in rest:
        t = (t * 3 + v) % 1009
    return t


def named(a: int, b: int = 7, *, c: int = 2) -> int:
    return (a * 100 + b * 10 + c) % 1009


def gather(a: int, **options: int) -> int:
    t = a
    for key, value in options.items():
        t += len(key) * value
    return t % 1009


def spread(*parts: int, **options: int) -> int:
    return fold(len(parts), *parts) + gather(1, **options)


def apply(fn, value: int, times: int = 2) -> int:
    for _ in range(times):
        value = fn(value) % 1009
    return value


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def check(log: list[str], n: int) -> int:
    """Raises for some numbers, of several classes."""
    log.append(f"check {n:03d}")
    if n % 11 == 3:
        raise Deep(f"deep {n}")
    if n % 7 == 2:
        raise ValueError(f"value {n:>4}")
    if n % 13 == 5:
        raise KeyError("key")
    if n % 17 == 4:
        raise RuntimeError("run")
    return n % 5


def guarded(log: list[str], n: int) -> int:
    """A return, or an error, with something to do on the way."""
    try:
        if n % 3 == 0:
            return check(log, n)
        log.append("went on")
    except Oops as e:
        log.append(f"<{e}>")
        if n % 2:
            raise
        return -1
    finally:
        log.append(f"finally {n % 10}")
    return n % 9


def named_by(n: int) -> str:
    match n % 6:
        case 0:
            return "zero"
        case 1 | 2:
            return "few"
        case v if v > 4:
            return f"many{v}"
        case _:
            return "some"


def shape_of(values: list[int]) -> str:
    match values:
        case []:
            return "none"
        case [x]:
            return f"one {x}"
        case [x, y]:
            return f"two {x + y}"
        case [first, *rest]:
            return f"{first} and {len(rest)}"
    return "?"


'''
"""Python's and ours: every function means the same in both."""
