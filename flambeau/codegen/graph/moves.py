"""Which operators only show or move elements of tensors, whatever these are: they serve complex tensors as others."""

from __future__ import annotations

from flambeau.codegen.graph.lowering_tables import only_moves

only_moves(
    "aten::select", "aten::slice", "aten::transpose", "aten::t", "aten::permute", "aten::unsqueeze", "aten::squeeze",
    "aten::view", "aten::reshape", "aten::clone", "aten::contiguous", "aten::expand", "aten::unbind", "aten::size",
    "prim::shape", "aten::dim", "aten::numel", "aten::len", "prim::dtype", "prim::device", "aten::detach",
    "aten::alias", "aten::ComplexImplicit", "aten::copy_", "aten::real", "aten::imag", "aten::view_as_real",
    "aten::zeros_like", "aten::empty_like", "aten::full_like", "aten::flip", "aten::roll", "aten::diagonal",
    "aten::diag_embed", "aten::slice_scatter", "aten::select_scatter", "aten::swapaxes", "aten::swapdims",
    "aten::numpy_T", "aten::mT", "aten::broadcast_to", "aten::expand_as", "aten::_unsafe_view", "aten::view_as",
    "aten::reshape_as", "aten::unflatten", "aten::flatten", "aten::unfold", "aten::chunk", "aten::unsafe_chunk",
    "prim::ConstantChunk", "aten::split", "aten::unsafe_split", "aten::split_with_sizes",
    "aten::unsafe_split_with_sizes", "aten::repeat", "aten::index", "aten::positive", "aten::resolve_conj",
    "aten::resolve_neg", "aten::is_contiguous", "aten::is_same_size", "aten::index_put", "aten::index_put_",
    "aten::fill_", "aten::zero_", "aten::diagonal_scatter",
)(lambda node: True)  # fmt: skip
