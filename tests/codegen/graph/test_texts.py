"""Texts in native code: what Python gives for any characters, with its errors, in growing buffers, as keys of dicts."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau.codegen.callable_type import MISSED
from flambeau.codegen.graph.representation import Int, Listed, Mapped, Optional, Text, Tupled
from tests.codegen.graph.one_meaning import CALLS, agree, assert_native
from tests.codegen.graph.test_graph_entry import echo

ANY = "aé\u2028 Zz0٣\ud800\U0001f600\x00ß-a"
PROGRAMS: dict[str, tuple[str, Callable[[], tuple[Any, ...]]]] = {
    "characters": ("""
def f(s: str):
    codes: List[int] = []
    for c in s:
        codes.append(ord(c))
    back = ""
    for code in codes:
        back += chr(code)
    return codes, back, back == s, len(back)
""", lambda: (ANY,)),
    "parts": ("""
def f(s: str, n: int):
    parts: List[str] = []
    for i in range(-n, n):
        for j in range(-n, n):
            parts.append(s[i:j])
        parts.append(s[:i])
        parts.append(s[i:])
        parts.append(s[::-1])
        parts.append(s[i::2])
        parts.append(s[:i:-3])
    return parts
""", lambda: (ANY, 8)),
    "order": ("""
def f(words: List[str]):
    answers: List[bool] = []
    for a in words:
        for b in words:
            answers.extend([a < b, a <= b, a > b, a >= b, a == b, a != b, a in words])
    return answers
""", lambda: (["", "a", "ab", "b", "B", "é", "\U0001f600", "\uffff", "a\x00", "ab"],)),
    "order of characters": ("""
def f(s: str, t: str):
    answers: List[bool] = []
    digits = 0
    for i in range(len(s)):
        a = s[i]
        for b in t:
            answers.extend([a < b, a <= b, a > b, a >= b])
        answers.extend([a < "m", a <= "\\x00", a >= "é", "\U0001f600" > a, a < "", a > "ab", "a" >= a])
        if a >= "0" and a <= "9":
            digits += 1
    return answers, digits
""", lambda: (ANY + "0919/:", "a0\x00\U0001f600\uffffZ")),
    "searches": ("""
def f(s: str, parts: List[str]):
    places: List[int] = []
    answers: List[bool] = []
    for part in parts:
        for i in range(-9, 10, 2):
            for j in range(-8, 10, 3):
                places.append(s.find(part, i, j))
                places.append(s.rfind(part, i, j))
                places.append(s.count(part, i, j))
                answers.append(s.startswith(part, i, j))
                answers.append(s.endswith(part, i, j))
        places.append(s.count(part))
    return places, answers
""", lambda: ("abaabaa", ["", "a", "aba", "aa", "x", "abaabaab", "baa"])),
    "sums and products": ("""
def f(s: str, n: int):
    out: List[str] = []
    grown = s
    for k in range(n):
        forked = grown + "<"
        grown = grown + ">" + s
        out.append(forked)
        out.append(grown)
        out.append(s * (k - 2))
        out.append((k - 2) * "-+")
    return out, grown, s
""", lambda: ("é", 9)),
    "numbers as texts": ("""
def f(numbers: List[int]):
    out = ""
    for n in numbers:
        out += str(n) + ","
    return out
""", lambda: ([0, 7, -7, 10, -10, 99, 100, (1 << 63) - 1, -(1 << 63)],)),
    "kinds of characters": ("""
def f(words: List[str]):
    answers: List[bool] = []
    out: List[str] = []
    for w in words:
        answers.extend([w.isdigit(), w.isalpha(), w.isalnum(), w.isspace(), w.isdecimal(), w.isnumeric()])
        out.append(w.upper())
        out.append(w.lower())
    return answers, out
""", lambda: (["", "a", "Zz", "09", " \\t", "a1", "é", "ß", "٣", "½", "\u2028", "_", "İ", "a b", "\x1c", "\x7f"],)),
    "one of several, and any": ("""
def f(s: str, n: int):
    t = "small" if n < 2 else "large"
    for i in range(n):
        if t == s:
            t = "same"
        elif i == 3:
            t = s[1:]
    return t, t + s, s == "large", "large" == t
""", lambda: ("large", 5)),
    "perhaps": ("""
def f(s: str, n: int):
    last: Optional[str] = None
    for i in range(n):
        if s[i] == "b":
            last = s[i:]
        elif s[i] == "d":
            last = "none"
    return last
""", lambda: ("abcd", 3)),
    "counts of words": ("""
def f(words: List[str]):
    counts: Dict[str, int] = {}
    for w in words:
        counts[w] = counts.get(w, 0) + 1
    return counts, list(counts), counts.items(), len(counts)
""", lambda: ([*"abracadabra", "", "a", "\x00", *(str(k) for k in range(40)), "39", "é"],)),
    "taken out and put in": ("""
def f(s: str, n: int):
    d: Dict[str, List[str]] = {}
    out: List[str] = []
    for i in range(n):
        k = s[i * 7 % len(s)] + str(i % 5)
        if k in d:
            d[k].append(s)
        else:
            d[k] = [k]
        if i % 11 == 10:
            out.extend(d.pop(k))
        if i % 13 == 12:
            name, items = d.popitem()
            out.append(name)
            out.extend(items)
    e = d.copy()
    d.clear()
    d["end"] = []
    return d, e, out
""", lambda: ("abcé\U0001f600", 120)),
    "pairs of texts and ints as keys": ("""
def f(words: List[str]):
    seen: Dict[Tuple[str, int], int] = {}
    for i in range(len(words)):
        key = (words[i], i % 2)
        if key not in seen:
            seen[key] = i
    return seen
""", lambda: ([*"abcabcabcdd"],)),
    "an argument as a dict": ("""
def f(ages: Dict[str, int], names: List[str]):
    total = 0
    for name in names:
        if name in ages:
            total += ages[name]
            ages[name] = 0
    return total, ages
""", lambda: ({"ann": 3, "bob": 5, "": 7, "é": 9}, ["ann", "zoe", "é", "ann", ""])),
}  # fmt: skip
ERRORS: dict[str, tuple[str, Callable[[], tuple[Any, ...]]]] = {
    "no character": ("""
def f(s: str, n: int):
    t = ""
    for i in range(n):
        t += s[i]
    return t
""", lambda: ("abc", 4)),
    "not one character": ("""
def f(words: List[str]):
    total = 0
    for w in words:
        total += ord(w)
    return total
""", lambda: (["a", "bc"],)),
    "no code point": ("""
def f(codes: List[int]):
    t = ""
    for c in codes:
        t += chr(c)
    return t
""", lambda: ([65, 1114112],)),
    "nothing of it": ("""
def f(s: str, parts: List[str]):
    total = 0
    for p in parts:
        total += s.index(p) + s.rindex(p)
    return total
""", lambda: ("abca", ["a", "ca", "x"])),
    "no key": ("""
def f(d: Dict[str, int], words: List[str]):
    total = 0
    for w in words:
        total += d[w]
    return total
""", lambda: ({"a": 1}, ["a", "é"])),
    "an error that is told": ("""
def f(s: str):
    for c in s:
        if c == "!":
            raise ValueError("found " + c + " in " + s)
    return s
""", lambda: ("a!é",)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_texts_are_what_python_makes_of_them(name: str) -> None:
    agree(*PROGRAMS[name])


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_the_interpreter_s(name: str) -> None:
    agree(*ERRORS[name])


def test_a_text_that_grows_is_not_copied_at_each_step() -> None:
    """A hundred times the length takes no more than some hundred times the time."""

    @flambeau.script
    def repeated(n: int) -> str:
        out = ""
        for k in range(n):
            out += chr(97 + k % 26)
        return out

    def seconds(n: int) -> float:
        best = 1.0
        for _ in range(5):
            start = time.process_time()
            repeated(n)
            best = min(best, time.process_time() - start)
        return best

    assert repeated(30) == "abcdefghijklmnopqrstuvwxyzabcd"
    assert seconds(1_000_000) < 1000 * max(seconds(10_000), 1e-4)


def test_random_programs_of_parts_and_sums_are_python_s() -> None:
    def folded(s: str, steps: list[int]) -> list[str]:
        kept = [s]
        for step in steps:
            last = kept[len(kept) - 1]
            other = kept[step % len(kept)]
            if step % 4 == 0:
                kept.append(last + other)
            elif step % 4 == 1:
                kept.append(other[step % 5 : len(other) - step % 3])
            elif step % 4 == 2:
                kept.append(other + s)
            elif len(other) > 0:
                kept.append(other[step % len(other)])
        return kept

    scripted, draw = flambeau.script(folded), random.Random(5)
    for _ in range(60):
        s = "".join(draw.choices("abé\U0001f600", k=draw.randint(0, 6)))
        steps = [draw.randint(0, 50) for _ in range(draw.randint(0, 12))]
        assert scripted(s, steps) == folded(s, steps)
    assert_native(scripted)


def test_results_outlive_what_they_are_parts_of() -> None:
    @flambeau.script
    def last(s: str) -> dict[str, str]:
        d: dict[str, str] = {}
        for i in range(len(s)):
            d[s[i:]] = (s + s)[i]
        return d

    for _ in range(CALLS):
        assert last("ab" * 20)["b"] == "b"
    assert_native(last)


def test_what_only_unicode_tells_leaves_the_loop_to_the_interpreter() -> None:
    @flambeau.script
    def titles(words: list[str]) -> str:
        out = ""
        for w in words:
            out += w.title()
        return out

    for _ in range(CALLS):
        assert titles(["ab", "é", "ǆ"]) == "AbÉǅ"
    assert "an iteration at a time" in str(titles.explain())


TEXTS = Listed(Text())
VALUES: list[tuple[Any, Any]] = [
    (Text(), ANY), (Text(), ""), (TEXTS, ["a", "", ANY]), (Tupled((Text(), Int())), ("é", 3)),
    (Mapped(Text(), Int()), {"a": 1, ANY: 2, "": 3}), (Mapped(Text(), Text()), {"a": "b"}),
    (Optional(Text()), None), (Optional(Text()), "x"),
]  # fmt: skip


@pytest.mark.parametrize(("rep", "value"), VALUES)
def test_native_entries_pass_texts_on_as_python_does(rep: Any, value: Any) -> None:
    assert [call(value) for call in echo(rep)] == [value, value]


@pytest.mark.parametrize("value", [1, None, b"a", ["a"], type("Name", (str,), {})("a")])
def test_native_entries_take_str_alone(value: Any) -> None:
    assert [call(value) for call in echo(Text())] == [MISSED, MISSED]
