"""What operators say of themselves beside their declaration: `tags=(flambeau.Tag.pt2_compliant_tag,)`.

>>> Tag.pointwise, Tag["core"]
(<Tag.pointwise: 16>, <Tag.core: 0>)

Those who declare operators of their own may give them; those of the package follow from what the declarations say.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from flambeau.schema import registry
from flambeau.schema.opdef import Effect, OpDef


class Tag(IntEnum):
    """Words for kinds of operators.

    >>> import flambeau
    >>> [tag.name for tag in flambeau.Tag if tag.name.startswith("nondeterministic")]
    ['nondeterministic_bitwise', 'nondeterministic_seeded']
    """

    core = 0
    cudagraph_unsafe = 1
    data_dependent_output = 2
    dynamic_output_shape = 3
    flexible_layout = 4
    generated = 5
    inplace = 6
    inplace_view = 7
    maybe_aliasing_or_mutating = 8
    needs_contiguous_strides = 9
    needs_exact_strides = 10
    needs_fixed_stride_order = 11
    nondeterministic_bitwise = 12
    nondeterministic_seeded = 13
    out = 14
    out_variant = 15
    pointwise = 16
    pt2_compliant_tag = 17
    reduction = 18
    view_copy = 19


_declared: Final[dict[str, tuple[Tag, ...]]] = {}
"""What users said of their operators, by the full name."""


def declare_tags(full_name: str, tags: Tag | Iterable[Tag]) -> None:
    """Say the tags of an overload that was declared.

    >>> declare_tags("doc_tags::blur", Tag.pointwise)
    >>> _declared["doc_tags::blur"]
    (<Tag.pointwise: 16>,)
    """
    _declared[full_name] = (tags,) if isinstance(tags, Tag) else tuple(tags)


def tags_of(definition: OpDef) -> list[Tag]:
    """The tags of an overload, in the order of their numbers.

    >>> from flambeau.schema import registry
    >>> import flambeau
    >>> [tag.name for tag in tags_of(registry.get("aten::add_.Tensor"))]
    ['inplace', 'pointwise', 'pt2_compliant_tag']
    """
    if definition.family == "custom":
        return sorted(set(_declared.get(definition.full_name, ())))
    schema = definition.schema
    writes_self = schema.is_mutable and schema.name.endswith("_")
    functional = _functional(definition) if schema.is_mutable else definition
    says = {
        Tag.pointwise: functional.scalar is not None,
        Tag.reduction: functional.family == "reduce",
        Tag.nondeterministic_seeded: definition.effect is Effect.RANDOM,
        Tag.inplace: writes_self,
        Tag.inplace_view: writes_self and definition.family == "view",
        Tag.out: schema.is_mutable and definition.family == "out",
        Tag.view_copy: functional.family == "copy",
        Tag.pt2_compliant_tag: True,
    }
    return sorted(tag for tag, holds in says.items() if holds)


def _functional(definition: OpDef) -> OpDef:
    """What gives a new tensor in place of writing one; the operator itself if there is none."""
    named = registry.overloads(definition.name.removesuffix("_"))
    inner = [d for d in named if not d.schema.is_mutable and d.schema.concerns_tensors]
    exact = [d for d in inner if d.schema.overload == definition.schema.overload]
    return next(iter(exact or inner), definition)
