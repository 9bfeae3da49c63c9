"""Positions and underlined excerpts."""

from __future__ import annotations

import pickle

import pytest

from flambeau.util.source import Source, SourceRange

TEXT = "def f(x):\n    a = 1\n    b = 1\n    d = foo(1,\n        bar,\n   baz)\n    e = 1\n    g = 2\n"


def part(text: str, first: str, last: str | None = None, **options: object) -> SourceRange:
    source = Source(text, "m.py", 10, **options)  # type: ignore[arg-type]
    start = text.index(first)
    end = text.index(last, start) + len(last) if last else start + len(first)
    return source.range(start, end)


def test_line_and_column_are_those_of_the_users_file() -> None:
    where = part(TEXT, "foo", leading_whitespace=4)
    assert where.file_line_col() == ("m.py", 13, 12)
    assert str(where) == "m.py:13:12"
    assert where.text == "foo"


def test_string_sources_count_from_one() -> None:
    assert str(Source("a\nb\n", "<string>").range(2, 3)) == "<string>:2:0"


def test_one_line_range() -> None:
    assert part(TEXT, "b = 1").highlight() == (
        '  File "m.py", line 12\ndef f(x):\n    a = 1\n    b = 1\n    ~~~~~ <--- HERE\n    d = foo(1,\n        bar,\n'
    )


def test_every_line_of_a_long_range_is_underlined_from_its_first_character() -> None:
    assert part(TEXT, "foo", "baz)").highlight(context_lines=1) == (
        '  File "m.py", line 13\n    b = 1\n    d = foo(1,\n        ~~~~~~\n        bar,\n        ~~~~\n'
        "   baz)\n   ~~~~ <--- HERE\n    e = 1\n"
    )


def test_no_line_is_invented_at_the_ends() -> None:
    assert part(TEXT, "g = 2").highlight(context_lines=1).endswith("    e = 1\n    g = 2\n    ~~~~~ <--- HERE\n")
    assert part(TEXT, "def").highlight(context_lines=0) == '  File "m.py", line 10\ndef f(x):\n~~~ <--- HERE\n'


def test_function_is_named_after_the_line() -> None:
    assert part(TEXT, "def").highlight(function="f").startswith('  File "m.py", line 10, in f\n')


def test_tabs_stay_tabs_so_that_marks_line_up() -> None:
    assert "\treturn y.foo\n\t       ~~~~~ <--- HERE\n" in part("def f():\n\treturn y.foo\n", "y.foo").highlight()


def test_blank_lines_inside_a_range_get_no_mark() -> None:
    assert part("a(\n\nb)\n", "a(", "b)").highlight() == '  File "m.py", line 10\na(\n~~\n\nb)\n~~ <--- HERE\n'


def test_an_empty_range_gets_one_mark() -> None:
    assert Source("ab\n", "m.py").range(1, 1).highlight() == '  File "m.py", line 1\nab\n ~ <--- HERE\n'


def test_a_range_at_the_end_of_the_text() -> None:
    assert "~ <--- HERE" in Source("ab", "m.py").range(2, 2).highlight()
    assert "~ <--- HERE" in Source("", "m.py").range(0, 0).highlight()


def test_utf8_columns_become_characters() -> None:
    source = Source("x\ny\u00e9 = \U0001f525z\n", "m.py")
    for column in range(6):
        prefix = "y\u00e9 = \U0001f525z"[:column].encode()
        assert source.offset(1, len(prefix)) == 2 + column


def test_form_feed_and_line_separator_do_not_end_a_line() -> None:
    assert Source("a\x0cb\u2028c\nd", "m.py").line_starts == (0, 6)


def test_a_place_without_text() -> None:
    where = SourceRange.at("lost.py", 7, 3)
    assert str(where) == "lost.py:7:3"
    assert where.text == ""
    assert where.highlight() == '  File "lost.py", line 7\n'


def test_union_within_and_across_sources() -> None:
    first, second = part(TEXT, "a = 1"), part(TEXT, "e = 1")
    assert first.union(second) == second.union(first) == part(TEXT, "a = 1", "e = 1")
    other = SourceRange.at("lost.py", 7, 3)
    assert first.union(other) is first


def test_ranges_are_values() -> None:
    where = part(TEXT, "foo")
    assert where == part(TEXT, "foo")
    assert hash(where) == hash(part(TEXT, "foo"))
    assert pickle.loads(pickle.dumps(where)) == where
    with pytest.raises(AttributeError):
        where.start = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("first", "last"), [("d =", "baz)"), ("foo(1", "1,"), ("foo(1", "bar"), ("a =", "a ="), ("def", "def")]
)
def test_layout_is_that_of_the_reference(first: str, last: str) -> None:
    pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    from torch._C._jit_tree_views import SourceRangeFactory

    where = part(TEXT, first, last)
    theirs = SourceRangeFactory(TEXT, "m.py", 10, 0).make_raw_range(where.start, where.end)
    assert where.highlight() == theirs.highlight()
