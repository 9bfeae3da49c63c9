"""Every operator has every facet, or stands in `EXEMPT` with the reason why not."""

from __future__ import annotations

import inspect

from flambeau.schema import registry
from flambeau.schema.opdef import OpDef
from tests.ops.matrix.matrix_cases import functional_names, is_functional
from tests.together import together

EXEMPT_FAMILIES = {
    "custom": "declared by users",
    "language": "operators on numbers, strings and lists have their own tests",
    "in_place": "follows from a functional overload",
    "out": "follows from a functional overload",
    "query": "a property of a tensor, tested with tensors",
    "metadata": "a property of a tensor, tested with tensors",
    "tape": "they go back over what was recorded, and are tested in programs that ask for gradients",
}
_ANOTHER_NAME = "another name, or an inner form, of an operator that has it"
_OWN_TESTS = "tested by hand, with the rest of its group"
EXEMPT = {
    "doc": {
        _ANOTHER_NAME: (
            "linalg_matmul native_group_norm native_batch_norm native_layer_norm nll_loss2d nll_loss_nd "
            "nll_loss_forward concat concatenate row_stack ger linalg_multi_dot linalg_cross copy "
            "max_pool1d_with_indices "
            "adaptive_max_pool1d max_pool2d_with_indices adaptive_max_pool2d max_pool3d_with_indices "
            "adaptive_max_pool3d "
            "unique_dim_consecutive numpy_T mT matrix_H mH cpu new_empty new_empty_strided linalg_vector_norm "
            "nonzero_numpy"
        ),
        "its name says it, as do the losses beside it": (
            "poisson_nll_loss hinge_embedding_loss margin_ranking_loss cosine_embedding_loss triplet_margin_loss"
        ),
    },
    "samples": {
        _ANOTHER_NAME: (
            "linalg_matmul nll_loss2d nll_loss_forward copy msort cpu resolve_conj resolve_neg lift_fresh new_empty "
            "new_empty_strided empty_permuted linalg_vector_norm nonzero_numpy"
        ),
        "it is refused: there is no such device": "cuda",
        "its results lie differently in memory in PyTorch; tested beside NumPy": "fft_ihfft2 fft_ihfftn",
        _OWN_TESTS: ("aminmax count_nonzero amax argmax amin argmin var var_mean std std_mean norm logsumexp"),
    },
}
"""Facet, reason, and the operators that lack the facet for that reason."""


NEIGHBOURS = ("reflection_pad", "replication_pad", "upsample_")
"""Forms by number of dimensions; one of each group is documented."""


def is_exempt(facet: str, name: str) -> bool:
    scope, _, short = name.partition("::")
    is_inner = scope == "prim" or short.startswith(("_", *NEIGHBOURS))
    return is_inner or any(short in names.split() for names in EXEMPT.get(facet, {}).values())


def firsts() -> list[OpDef]:
    """The overload of each operator that carries its documentation."""
    found = []
    for name in functional_names():
        functional = [d for d in registry.overloads(name) if is_functional(d) and d.family not in EXEMPT_FAMILIES]
        if functional:
            found.append(next((d for d in functional if d.doc), functional[0]))
    return found


@together("definition", firsts(), ids=lambda d: d.name)
def test_has_every_facet(definition: OpDef) -> None:
    lacking = []
    if not definition.doc:
        lacking.append("doc")
    if definition.family != "pointwise" and all(d.samples is None for d in registry.overloads(definition.name)):
        lacking.append("samples")
    if definition.family == "pointwise" and (definition.scalar is None or definition.compute is None):
        lacking.append("scalar")
    missing = [f for f in lacking if not is_exempt(f, definition.name)]
    assert not missing, f"{definition.name} has no {', '.join(missing)}: declare it, or give the reason in EXEMPT"


def test_docs_are_sentences() -> None:
    loose = [d.name for d in firsts() if d.doc and not d.doc.rstrip().endswith((".", ":"))]
    assert not loose, f"the doc ends without a full stop: {', '.join(loose)}"


def test_scalars_are_pure() -> None:
    """The meaning of a pointwise operator takes the protocol and all arguments of the schema."""
    for definition in registry.all_definitions():
        if definition.scalar is not None:
            inspect.signature(definition.scalar).bind(None, *definition.schema.arguments)
