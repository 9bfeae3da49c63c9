"""Advice in messages: all of it is Python, names what exists, compiles in a program, and means what it stands for."""

from __future__ import annotations

import ast
import copy
import functools
import heapq
import importlib.util
import itertools
import math
import operator
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.util.instead import ADVICE, Advice
from tests.source_tree import MODULES, NODES, ROOT

OWNERS = {
    "flambeau": flambeau, "np": np, "numpy": np, "math": math, "nn": nn, "jit": flambeau.jit, "operator": operator,
}  # fmt: skip
SAMPLES: dict[str, Callable[[], Any]] = {
    "Tensor": lambda: np.array([3.0, 1.0, 2.0]), "np.ndarray": lambda: np.array([3.0, 1.0, 2.0]), "int": lambda: 3,
    "float": lambda: 1.5, "str": lambda: "abc", "list[int]": lambda: [3, 1, 2], "list[str]": lambda: ["a", "b"],
    "list[bool]": lambda: [False, False], "list[list[int]]": lambda: [[1, 2, 3], [4, 5, 6]],
    "list[float]": lambda: [1.5], "list[tuple[int, int]]": lambda: [(1, 2), (3, 4)],
    "dict[str, int]": lambda: {"abc": 1},
    "dict[str, list[int]]": lambda: {"b": [1]},
}  # fmt: skip
CODE = re.compile(r"[(\[=`.]")
ENDS = (
    ", which", ", as ", ", with", ", for ", ", to ", ", or ", ", and ", " or ", " of ", " for ", " in ", " where ",
    ": ", "; ", ". ",
)  # fmt: skip
PLACE = re.compile(r"\{[a-z_]*\}")


def _texts_of(module: str) -> list[tuple[str, str]]:
    """The texts of a module that may be messages, with where they stand; fields of f-strings as `{}`."""
    skipped: set[ast.AST] = {node.value for node in NODES[module].of(ast.Expr)}  # docstrings
    path = MODULES[module].relative_to(ROOT)
    texts = []
    for node in NODES[module].of(ast.JoinedStr):
        skipped.update(node.values)
        text = "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values)
        texts.append((f"{path}:{node.lineno}", text))
    for constant in NODES[module].of(ast.Constant):
        if isinstance(constant.value, str) and constant not in skipped:
            texts.append((f"{path}:{constant.lineno}", constant.value))
    return texts


@functools.cache
def _texts() -> list[tuple[str, str]]:
    """All texts of the package that may be messages."""
    return [text for module in MODULES for text in _texts_of(module)]


def _written(text: str) -> Iterator[str]:
    """What a text says to write or use, as far as it is code; and all that stands in backticks, if it says so."""
    for found in re.finditer(r"\b([Ww]rite|[Uu]se|says) ", text):
        rest = text[found.end() :].strip()
        if rest.startswith("`"):
            code = rest[1:].partition("`")[0]
            if _parses(code):  # signs alone do not
                yield code
            continue
        cuts = sorted({len(rest), *(rest.index(end) for end in ENDS if end in rest)}, reverse=True)
        for cut in cuts:
            code = rest[:cut].rstrip(".")
            if CODE.search(code) and _parses(code):
                yield code
                break


def _parses(code: str) -> bool:
    try:
        ast.parse(PLACE.sub("place", code))
    except SyntaxError:
        return False
    return True


def test_c07_code_in_backticks_of_advice_is_python() -> None:
    told = [(where, t) for where, t in _texts() if re.search(r"\b([Ww]rite|[Uu]se|nstead)\b.*`", t, re.DOTALL)]
    assert told
    for where, text in told:
        for code in re.findall(r"`([^`]+)`", text):
            header = PLACE.sub("place", code).rstrip(":")
            fits = _parses(code) or _parses(f"{header}: pass") or re.fullmatch(r"[-<>~^+*/|&]+( T)?", code)
            assert fits, f"{where}: {code}"


def test_c07_advice_names_what_exists() -> None:
    seen = 0
    for where, text in _texts():
        for code in _written(text):
            for node in ast.walk(ast.parse(PLACE.sub("place", code))):
                path = _dotted(node)
                if path is not None and path[0] in OWNERS and "place" not in ".".join(path):
                    seen += 1
                    assert _exists(path), f"{where}: {'.'.join(path)}"
    assert seen > 4


def test_c07_names_of_the_package_in_messages_exist() -> None:
    for where, text in _texts():
        if "/tools/" in where:
            continue  # the text of stubs
        for found in re.findall(r"(?<![\w./])(flambeau|np)((?:\.[A-Za-z_]\w*)+)(?!\w*\.py)", text):
            if " " not in text or "{" in text or "%" in text:
                continue  # a name of a module, of a symbol of native code, or the start of one
            path = [found[0], *found[1][1:].split(".")]
            assert _exists(path), f"{where}: {'.'.join(path)}"


def _dotted(node: ast.AST) -> list[str] | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) and parts else None


def _exists(path: list[str]) -> bool:
    owner: Any = OWNERS[path[0]]
    for part in path[1:]:
        if not hasattr(owner, part):
            try:
                owner = importlib.import_module(f"{owner.__name__}.{part}")
            except (ImportError, AttributeError):
                return False
        else:
            owner = getattr(owner, part)
    return True


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """A function for each piece of advice, with the code in it."""
    lines = ["import math", "import numpy as np", "import flambeau", "from flambeau import Tensor"]
    for k, advice in enumerate(ADVICE):
        body = f"{advice.code}\n    return {advice.gives}" if advice.gives else f"return {advice.code}"
        lines.append(f"def advice_{k}({advice.given}):\n    {body}")
    path = tmp_path_factory.mktemp("advice") / "advice_programs.py"
    path.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location("advice_programs", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["advice_programs"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["advice_programs"]


def _arguments(advice: Advice) -> dict[str, Any]:
    arguments = ast.parse(f"def f({advice.given}): pass").body[0].args  # type: ignore[attr-defined]
    given = {a.arg: SAMPLES[ast.unparse(a.annotation)]() for a in arguments.args}
    defaults = arguments.defaults
    for argument, default in zip(arguments.args[len(arguments.args) - len(defaults) :], defaults, strict=True):
        given[argument.arg] = ast.literal_eval(default)
    return given


def _plain(value: Any) -> Any:
    if isinstance(value, Tensor | np.ndarray | np.generic):
        array = np.asarray(value)
        return np.round(array.astype(complex if np.iscomplexobj(array) else float), 6).tolist()
    return round(value, 6) if isinstance(value, float) else value


@pytest.mark.parametrize("k", range(len(ADVICE)), ids=lambda k: ADVICE[k].code)
def test_c07_advice_compiles_and_means_what_it_stands_for(k: int, programs: ModuleType) -> None:
    advice = ADVICE[k]
    given = _arguments(advice)
    tensors = {n for n in given if re.search(rf"\b{n}: Tensor", advice.given)}
    own = {n: flambeau.from_numpy(v.copy()) if n in tensors else copy.deepcopy(v) for n, v in given.items()}
    found = flambeau.script(getattr(programs, f"advice_{k}"))(**own)
    if advice.of:
        names = {
            "np": np, "copy": copy, "heapq": heapq, "itertools": itertools, "math": math, "functools": functools,
            "operator": operator,
        }  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # np.fix of NumPy 2.5
            meant = eval(advice.of, names, dict(given))
        assert _plain(found) == _plain(meant)
