"""The reference has each operator once, under the topic of the module that declares it, with examples that run."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

import flambeau
from flambeau.ops.call_examples import LONGEST, examples, public_paths
from flambeau.schema import registry
from flambeau.schema.opdef import OpDef
from tests.together import together
from website import operators, topics

OWN = registry.names()
NAMES = [n for n in registry.names() if operators.main_overloads(n)]


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The pages of the package's own operators: other tests declare further ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "names", lambda: OWN)
        return operators.pages(Path())


def test_c08_every_module_that_declares_operators_has_a_topic() -> None:
    modules = {m for d in registry.all_definitions() if (m := topics.declaring_module(d))}
    assert len(modules) > 60
    for module in modules:
        assert topics.topic_of_module(module), f"give flambeau.ops.{module} a topic in website/topics.py"
    for module in topics.OF_MODULE:
        assert list(topics.OPS.rglob(f"{module}.py" if "*" not in module else module)) or module == "language/*", module


def test_c08_every_operator_is_on_one_page(pages: dict[str, str]) -> None:
    headings = [h for text in pages.values() for h in re.findall(r"^## (.*?) \{#", text, re.MULTILINE)]
    rows = re.findall(r"^\| `([\w:]+)`", pages["reference/operators/values-of-the-language.md"], re.MULTILINE)
    assert sorted(h.replace("\\", "") for h in headings) + sorted(rows) == (
        sorted(h.replace("\\", "") for h in headings) + sorted(set(rows))
    )
    assert sorted([h.replace("\\", "") for h in headings] + rows) == sorted(map(operators.short, NAMES))


def test_c08_an_entry_says_what_the_declaration_says(pages: dict[str, str]) -> None:
    page = pages["reference/operators/networks-activations.md"]
    relu = page.partition("## relu {#relu}")[2].partition("\n## ")[0]
    for part in ("native", "in place", "max(x, 0)", "relu(self: Tensor) -> Tensor", "float64 give the same", ">>> f"):
        assert part in relu, part
    solve = pages["reference/operators/linear-algebra.md"].partition("## linalg\\_solve {")[2].partition("\n## ")[0]
    assert "<code>flambeau.linalg.solve</code>" in solve
    assert "native" not in solve


def test_c08_most_operators_have_an_example(pages: dict[str, str]) -> None:
    packed = "reference/operators/quantised-tensors.md"  # most of them take packed weights, which no literal is
    counted = [(t.count("\n## "), t.count("```pycon")) for name, t in pages.items() if name != packed]
    assert sum(e for _, e in counted) > 0.75 * sum(n for n, _ in counted)


CANNOT_RUN = {
    "addr_": "its samples broadcast", "float_power_": "it wants float64", "_unsafe_view": "sizes have to fit",
    "linalg_diagonal": "it wants two dimensions", "is_nonzero": "it wants one element", "cuda": "no such device here",
    "item": "it wants one element",
    "matrix_power": "ones have no inverse", "trace": "the function is the compiler's", "conv_tbc": "sizes have to fit",
    "_softmax": "halves on a GPU", "_log_softmax": "halves on a GPU",
}  # fmt: skip
"""Operators whose example in `help()` fails, and why: none may join them."""


@together("name", [n for n in registry.names() if public_paths(registry.overloads(n))])
def test_c08_examples_in_help_run(name: str) -> None:
    definitions: list[OpDef] = list(registry.overloads(name))
    call = next(examples(definitions, LONGEST), None)
    if call is None or operators.short(name) in CANNOT_RUN:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        eval(call, {"flambeau": flambeau})
