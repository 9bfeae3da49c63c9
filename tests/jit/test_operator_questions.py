"""Questions about operators under the names of `torch._C`, asked of both where PyTorch is installed."""

from __future__ import annotations

from typing import Any, Tuple  # noqa: UP035  (the older spelling is what is tested)

import pytest

import flambeau
from flambeau import _C
from flambeau.testing import FileCheck


@pytest.fixture(name="torch")
def _torch() -> Any:
    return pytest.importorskip("torch", reason="torch is a peer, not a dependency")


def test_changes_of_operators(torch: Any) -> None:
    def shown(c: Any) -> dict[str, list[tuple[int, str, str]]]:
        table = c._get_operator_version_map()
        return {k: [(e.bumped_at_version, e.upgrader_name, e.old_schema) for e in v] for k, v in table.items()}

    assert shown(_C) == shown(torch._C)
    assert _C._get_max_operator_version() == torch._C._get_max_operator_version()


def test_changed_operators_are_declared() -> None:
    for overload, (entry,) in _C._get_operator_version_map().items():
        assert _C.parse_schema(entry.old_schema).name == overload.partition(".")[0]
        assert entry.bumped_at_version <= _C._get_max_operator_version()


@pytest.mark.parametrize("name", ["aten::add", "aten::relu", "aten::max", "aten::sum"])
def test_which_overload_a_call_means(torch: Any, name: str) -> None:
    ours, theirs = flambeau.ones(2, 2), torch.ones(2, 2)
    assert _C._jit_resolve_packet(name, *[ours] * (name == "aten::add"), ours) == torch._C._jit_resolve_packet(
        name, *[theirs] * (name == "aten::add"), theirs
    )


def test_declarations_by_overload(torch: Any) -> None:
    for name, overload in (("aten::add", "Tensor"), ("aten::neg", ""), ("aten::sum", "dim_IntList")):
        assert str(_C._get_schema(name, overload)) == str(torch._C._get_schema(name, overload))
    with pytest.raises(RuntimeError, match="Found no matching schema: aten::add has no overload 'nothing'"):
        _C._get_schema("aten::add", "nothing")


def test_operators_of_a_module() -> None:
    assert _C._export_opnames(flambeau.script(flambeau.nn.Linear(2, 2))._c) == ["aten::linear"]


def test_values_are_of_types() -> None:
    _C._jit_assert_is_instance([1], _C.ListType(_C.IntType.get()))
    with pytest.raises(RuntimeError, match="expected a value of type 'int', got 'a', which is of type 'str'"):
        _C._jit_assert_is_instance("a", _C.IntType.get())


def test_the_type_of_empty_tuples_in_both_spellings() -> None:
    for spelling in (Tuple[()], tuple[()]):  # noqa: UP006
        assert flambeau.jit.annotations.ann_to_type(spelling).annotation_str == "Tuple[()]"


def test_file_check_is_there_too() -> None:
    assert _C.FileCheck is FileCheck


def test_words_for_kinds_of_operators(torch: Any) -> None:
    for tag in flambeau.Tag:
        assert int(getattr(torch.Tag, tag.name)) == tag
        assert repr(getattr(torch.Tag, tag.name)) == repr(tag)
    theirs = {name for name in dir(torch.Tag) if not name.startswith("_")} - {"name", "value"}
    assert {tag.name for tag in flambeau.Tag} == theirs
    assert _C.Tag is flambeau.Tag


def test_operators_are_declared_with_words() -> None:
    flambeau.library.define("words_of_kinds::twice", "(Tensor x) -> Tensor", tags=(flambeau.Tag.pt2_compliant_tag,))
    flambeau.library.impl("words_of_kinds::twice", "default", lambda x: x * 2)
    assert flambeau.ops.words_of_kinds.twice(flambeau.ones(1)).item() == 2
