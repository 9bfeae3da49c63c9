"""Which node becomes what: structure and containers here, the rest by what the operators declare.

An operator with a Scalar meaning needs no entry. The entries are for what has none: views, containers, conversions
between tensors and numbers, and new tensors. Everything else is run by Python, where its results can be told.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.graph import calls, identity, memory, moves
from flambeau.codegen.graph.containers import (
    dicts,
    list_changes,
    list_comparisons,
    list_folds,
    list_slices,
    list_sorting,
    listed_elements,
    lists,
    sets,
)
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.entry.foreign import call
from flambeau.codegen.graph.groups import groups
from flambeau.codegen.graph.linear_algebra import (
    complex_matrices,
    diagonals,
    distances,
    factors,
    fourier_transforms,
    matrices,
    triangular,
)
from flambeau.codegen.graph.loops import hoisted_bounds_checks
from flambeau.codegen.graph.lowering_tables import (
    Lowering,
    lowers,
    lowers_on_complex,
    lowers_on_complex_tensors,
    lowers_on_dicts,
    lowers_on_items,
    lowers_on_lists,
    lowers_on_numbers,
    lowers_on_tensors,
    lowers_on_texts,
    only_moves,
)
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import (
    CannotCompileError,
    ListValue,
    OptionalValue,
    Scalar,
    TupleValue,
    UnlikeValue,
    describe,
)
from flambeau.codegen.graph.numbers import (
    complex_arrays,
    complex_functions,
    complex_numbers,
    complex_scalars,
    exact_functions,
    float_parts,
    gamma_functions,
    whole_numbers,
)
from flambeau.codegen.graph.objects import objects
from flambeau.codegen.graph.random import generator_draws, numpy_array_draws, tensor_draws
from flambeau.codegen.graph.representation import (
    Array,
    Bool,
    Element,
    Float,
    Int,
    Listed,
    Mapped,
    Representation,
    Tupled,
)
from flambeau.codegen.graph.tensors import (
    arrays,
    axes,
    bags,
    choices,
    copies,
    creation,
    distinct,
    element_indexes,
    gather,
    ordered_lines,
    packing,
    part_writes,
    picked_losses,
    pieces,
    pointwise,
    rearranging,
    reordered,
    repeats,
    resized_views,
    running_folds,
    scatter,
    sorting,
    tensor_literals,
    writes,
)
from flambeau.codegen.graph.texts import number_formats, text_formats, text_numbers, text_parts, texts
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes
from flambeau.schema.opdef import OpDef


def lower(fn: EmittedFunction, node: Node) -> None:
    """Emit one node. Raises `CannotCompileError` with the reason where it has no native form."""
    try:
        _lower(fn, node)
    except KernelError as error:
        raise CannotCompileError(str(error)) from None


def _lower(fn: EmittedFunction, node: Node) -> None:
    _refuse_unlike(fn, node)
    definition = node.definition
    is_language = definition is not None and definition.scalar is not None and definition.family == "language"
    if definition is not None and is_language and pointwise.is_numbers(fn, node):
        pointwise.numbers(fn, node, definition)
        return
    if choices.by_table(fn, node):
        return
    rule = _rule(fn, node)
    before = len(fn.e.lines)
    try:
        if rule is not None:
            rule(fn, node)
        elif definition is None:
            raise CannotCompileError("it has no native form")
        else:
            _by_declaration(fn, node, definition)
    except (CannotCompileError, KernelError) as reason:
        if len(fn.e.lines) != before or definition is None:
            raise
        exits_before = len(fn.parts.exit_points)
        groups.operator(fn, node)
        for exit_point in fn.parts.exit_points[exits_before:]:
            exit_point.reason = str(reason)


def _refuse_unlike(fn: EmittedFunction, node: Node) -> None:
    """Tensors of several dtypes or ranks are passed on, and nothing else."""
    if node.op in lowers and lowers[node.op] in (_tuple, identity.is_, identity.is_not, identity.unwrap):
        return
    for value in node.operands:
        native = fn.values.get(value)
        inner = native.inner if isinstance(native, OptionalValue) else native
        if isinstance(inner, UnlikeValue):
            one, *others = map(describe, inner.rep.kinds)
            raise CannotCompileError(f"a value is {one} on one way and {others[0]} on another")


def _rule(fn: EmittedFunction, node: Node) -> Lowering | None:
    """The entry for a node, by its kind and by what its operands have become."""
    reps = [fn.values.get(v).rep for v in node.operands[:2]]
    if _is_of_tensors(reps) and complex_arrays.has_complex_operand(fn, node):
        return _rule_for_complex_tensors(node)
    if complex_numbers.is_complex(fn, node) and node.op in lowers_on_complex:
        return lowers_on_complex[node.op]
    if node.op in lowers_on_texts and texts.are_of_text(reps):
        return lowers_on_texts[node.op]
    if node.op in lowers_on_numbers and isinstance(reps[0], Int | Float | Bool):
        return lowers_on_numbers[node.op]
    if node.op in lowers:
        return lowers[node.op]
    if node.op == "^try":
        raise CannotCompileError("a try block, which is interpreted")
    if node.op.startswith("^"):
        return call
    if reps and isinstance(reps[0], Array | Element):
        return lowers_on_tensors.get(node.op)
    return _rule_for_containers(node, reps)


def _is_of_tensors(reps: Sequence[Representation]) -> bool:
    """Whether one of the first operands is a tensor, and the first no container."""
    is_of_container = bool(reps) and isinstance(reps[0], Listed | Mapped | Tupled)
    return not is_of_container and any(isinstance(rep, Array | Element) for rep in reps)


def _rule_for_complex_tensors(node: Node) -> Lowering | None:
    if node.op in lowers:
        return lowers[node.op]
    if node.op in lowers_on_complex_tensors:
        return lowers_on_complex_tensors[node.op]
    if node.op in only_moves:
        return lowers_on_tensors.get(node.op)
    is_in_place = node.definition is not None and node.definition.family == "in_place"
    return None if is_in_place else groups.operator


def _rule_for_containers(node: Node, reps: Sequence[Representation]) -> Lowering | None:
    if reps and isinstance(reps[0], Mapped):
        return lowers_on_dicts.get(node.op)
    if any(isinstance(r, Listed | Tupled) for r in reps):
        return lowers_on_items.get(node.op) or lowers_on_lists.get(node.op)
    return None


def _by_declaration(fn: EmittedFunction, node: Node, definition: OpDef) -> None:
    """A node by what its operator declares."""
    if pointwise.is_pointwise_on_elements(fn, node):
        pointwise.on_elements(fn, node)
    elif not writes.in_place(fn, node, definition):
        groups.operator(fn, node)


# -- structure --------------------------------------------------------------------------------------------------------


def _tuple(fn: EmittedFunction, node: Node) -> None:
    items = tuple(fn.values.get(v) for v in node.operands)
    result = TupleValue(items)
    fn.values.set_view(node.result(), result)


def _unpack(fn: EmittedFunction, node: Node) -> None:
    container = fn.values.get(node.operand(0))
    if isinstance(container, ListValue):
        wrong = fn.e.icmp("ne", lists.length(fn, container), number(len(node.results)))
        fn.exits.fail_if(wrong, node)
        for k, value in enumerate(node.results):
            fn.values.set_view(value, lists.item(fn, container, number(k)))
        return
    if not isinstance(container, TupleValue) or len(container.items) != len(node.results):
        raise CannotCompileError("a container whose length is not known or wrong")
    for value, item in zip(node.results, container.items, strict=True):
        fn.values.set_view(value, item)


def _tuple_index(fn: EmittedFunction, node: Node) -> None:
    container, at = fn.values.get(node.operand(0)), arrays.known_int(fn, node.operand(1))
    if not isinstance(container, TupleValue) or not -len(container.items) <= at < len(container.items):
        raise CannotCompileError("an index into a tuple that is not known")
    fn.values.set_view(node.result(), container.items[at])


def _range_length(fn: EmittedFunction, node: Node) -> None:
    e = fn.e
    low, high, step = (fn.values.index(v) for v in node.operands)
    constant = memory.literal(step)
    if constant is None or constant == 0:
        fn.exits.fail_if(e.icmp("eq", step, number(0)), node)
    if constant == 1:
        count = memory.subtract(e, high, low)
        size = e.select(e.icmp("slt", low, high), count, number(0))
        fn.values.set(node.result(), Scalar(Int(), size))
        return
    up = e.icmp("sgt", step, number(0))
    runs = e.select(up, e.icmp("slt", low, high), e.icmp("sgt", low, high))
    distance = e.select(up, e.binary("sub", high, low), e.binary("sub", low, high))
    stride = e.select(up, step, e.binary("sub", number(0), step))
    one_less = e.binary("sub", distance, number(1))
    # As unsigned numbers, so that ranges wider than 63 bits and the step -2**63 come out right.
    count = e.binary("add", e.binary("udiv", one_less, e.select(runs, stride, number(1))), number(1))
    fn.values.set(node.result(), Scalar(Int(), e.select(runs, count, number(0))))


def _derive_index(fn: EmittedFunction, node: Node) -> None:
    e = fn.e
    index, start, step = (fn.values.scalar(v) for v in node.operands)
    moves = memory.multiply(e, index.register, step.register)
    affine = None
    if fn.scope.iterations is not None:
        parts = [hoisted_bounds_checks.affine_of(fn, x) for x in (index, start, step)]
        affine = hoisted_bounds_checks.added(hoisted_bounds_checks.scaled(parts[0], parts[2]), parts[1])
    fn.values.set(node.result(), Scalar(Int(), memory.add(e, start.register, moves), affine))


def _length(fn: EmittedFunction, node: Node) -> None:
    fn.values.set(node.result(), Scalar(Int(), lists.length(fn, fn.values.get(node.operand(0)))))


assert all((complex_functions, complex_matrices, complex_scalars, exact_functions, gamma_functions))  # they register
assert all((float_parts, fourier_transforms, generator_draws, list_comparisons, list_slices, moves))
assert all((number_formats, numpy_array_draws))
assert all((running_folds, tensor_draws, text_formats, text_numbers, text_parts, creation, whole_numbers))
assert listed_elements

lowers("prim::ListConstruct")(lists.construct)
lowers("prim::TupleConstruct")(_tuple)
lowers("prim::DictConstruct")(dicts.construct)
lowers("prim::TupleUnpack")(_unpack)
lowers("prim::TupleIndex")(_tuple_index)
lowers("prim::FusionGroup")(groups.group)
lowers("prim::CallFunction", "prim::CallMethod")(calls.call)
lowers("prim::CreateObject")(objects.create)
lowers("prim::GetAttr")(objects.read)
lowers("prim::SetAttr")(objects.write)
lowers("prim::isinstance")(objects.is_instance)
lowers("aten::__range_length")(_range_length)
lowers("aten::__derive_index")(_derive_index)
lowers("aten::__is__")(identity.is_)
lowers("aten::__isnot__")(identity.is_not)
lowers("aten::_unwrap_optional")(identity.unwrap)

lowers("aten::eye")(diagonals.eye)
lowers("aten::tensor", "aten::scalar_tensor", "prim::NumToTensor")(tensor_literals.tensor)
lowers_on_items("aten::tensor", "aten::as_tensor")(tensor_literals.tensor)

lowers_on_items("prim::ListUnpack")(_unpack)
lowers_on_items("prim::min", "prim::max")(list_folds.min_max)
lowers_on_items("aten::__getitem__", "aten::select")(lists.get_item)
lowers_on_items("aten::len")(_length)
lowers_on_items("aten::sum")(list_folds.total)
lowers_on_items("python::prod")(list_folds.product)
lowers_on_items("aten::any", "aten::all")(list_folds.some_or_all)
lowers_on_items("aten::list", "aten::copy")(lists.copy)

lowers_on_lists("aten::_set_item")(lists.set_item)
lowers_on_lists("aten::append")(lists.append)
lowers_on_lists("aten::pop", "aten::Delete")(list_changes.pop)
lowers_on_lists("aten::insert")(list_changes.insert)
lowers_on_lists("aten::extend", "aten::add_")(list_changes.extend)
lowers_on_lists("aten::add")(list_changes.concatenate)
lowers_on_lists("aten::clear")(list_changes.clear)
lowers_on_lists("aten::reverse")(list_changes.reverse)
lowers_on_lists("aten::sort")(list_sorting.sort)
lowers_on_lists("aten::sorted")(list_sorting.sorted_)
lowers_on_lists("python::sorted_by")(list_sorting.sorted_by)
lowers_on_lists("aten::mul")(lists.repeat)
lowers_on_lists("aten::cat")(copies.cat)
lowers_on_lists("aten::stack")(copies.stack)

lowers_on_lists("aten::dict")(dicts.from_pairs)
lowers_on_items("python::set")(sets.construct)

lowers_on_tensors("aten::select")(arrays.select)
lowers_on_tensors("aten::diagonal")(diagonals.diagonal)
lowers_on_tensors("aten::diag")(diagonals.diag)
lowers_on_tensors("aten::diag_embed")(diagonals.diag_embed)
lowers_on_tensors("aten::flip")(reordered.flip)
lowers_on_tensors("aten::diff")(reordered.diff)
lowers_on_tensors("aten::sort")(sorting.sort)
lowers_on_tensors("aten::argsort")(sorting.argsort)
lowers_on_tensors("aten::searchsorted")(sorting.searchsorted)
lowers_on_tensors("aten::topk")(ordered_lines.topk)
lowers_on_tensors("aten::kthvalue")(ordered_lines.kthvalue)
lowers_on_tensors("aten::median")(ordered_lines.median)
lowers_on_tensors("aten::nanmedian")(ordered_lines.nanmedian)
lowers_on_tensors("aten::mode")(ordered_lines.mode)
lowers_on_tensors("aten::nonzero", "aten::argwhere")(distinct.nonzero)
lowers_on_tensors("aten::nonzero_numpy")(distinct.nonzero_by_axes)
lowers_on_tensors("aten::unique_consecutive")(distinct.unique_consecutive)
lowers_on_tensors("aten::_unique2", "aten::_unique")(distinct.unique)
lowers_on_tensors("aten::histc")(distinct.histc)
lowers_on_tensors("aten::inverse", "aten::linalg_inv")(matrices.inverse)
lowers_on_tensors("aten::linalg_inv_ex")(matrices.inverse_and_failure)
lowers_on_tensors("aten::det", "aten::linalg_det")(matrices.determinant)
lowers_on_tensors("aten::slogdet", "aten::linalg_slogdet")(matrices.sign_and_logarithm)
lowers_on_tensors("aten::cholesky", "aten::linalg_cholesky")(matrices.cholesky)
lowers_on_tensors("aten::linalg_eigvalsh")(matrices.eigenvalues)
lowers_on_tensors("aten::linalg_eigh")(matrices.eigenvectors)
lowers_on_tensors("aten::linalg_svdvals")(matrices.singular_values)
lowers_on_tensors("aten::linalg_svd")(factors.singular_vectors)
lowers_on_tensors("aten::linalg_qr")(factors.orthonormal_and_triangle)
lowers_on_tensors("aten::linalg_solve")(matrices.solve)
lowers_on_tensors("aten::cdist")(distances.cdist)
lowers_on_tensors("aten::nll_loss", "aten::nll_loss_nd", "aten::nll_loss2d")(picked_losses.nll_loss)
lowers_on_tensors("aten::linalg_solve_triangular")(triangular.solve_triangular)
lowers_on_tensors("aten::triangular_solve")(triangular.triangular_solve)
lowers_on_tensors("aten::slice")(arrays.slice_)
lowers_on_tensors("aten::slice_scatter")(part_writes.slice_scatter)
lowers_on_tensors("aten::select_scatter")(part_writes.select_scatter)
lowers_on_tensors("aten::diagonal_scatter")(part_writes.diagonal_scatter)
lowers_on_tensors("aten::transpose", "aten::swapaxes", "aten::swapdims")(axes.transpose)
lowers_on_tensors("aten::t", "aten::numpy_T")(axes.t)
lowers_on_tensors("aten::mT", "aten::mH", "aten::matrix_H", "aten::adjoint")(axes.transpose_matrices)
lowers_on_tensors("aten::permute")(axes.permute)
lowers_on_tensors("aten::unsqueeze")(axes.unsqueeze)
lowers_on_tensors("aten::squeeze")(axes.squeeze)
lowers_on_tensors("aten::expand", "aten::broadcast_to")(arrays.expand)
lowers_on_tensors("aten::expand_as")(arrays.expand_as)
lowers_on_tensors("aten::view", "aten::_unsafe_view")(resized_views.view)
lowers_on_tensors("aten::reshape")(resized_views.reshape)
lowers_on_tensors("aten::view_as")(resized_views.view_as)
lowers_on_tensors("aten::reshape_as")(resized_views.reshape_as)
lowers_on_tensors("aten::unflatten")(resized_views.unflatten)
lowers_on_tensors("aten::clone")(copies.clone)
lowers_on_tensors("aten::contiguous")(copies.contiguous)
lowers_on_tensors("aten::dropout")(rearranging.dropout)
lowers_on_tensors("aten::pixel_shuffle")(rearranging.pixel_shuffle)
lowers_on_tensors("aten::pixel_unshuffle")(rearranging.pixel_unshuffle)
lowers_on_tensors("aten::to")(copies.convert)
lowers_on_complex_tensors("aten::to")(copies.convert)
lowers_on_tensors("aten::scatter", "aten::scatter_")(scatter.scatter)
lowers_on_tensors("aten::scatter_add", "aten::scatter_add_")(scatter.scatter_add)
lowers_on_tensors("aten::index_add", "aten::index_add_")(scatter.index_add)
lowers_on_tensors("aten::index_copy", "aten::index_copy_")(scatter.index_copy)
lowers_on_tensors("aten::index_put_")(element_indexes.index_put_)
lowers_on_tensors("aten::index")(element_indexes.index)
lowers_on_tensors("aten::roll")(gather.roll)
lowers_on_tensors("aten::flatten")(resized_views.flatten)
lowers_on_tensors("aten::unfold")(resized_views.unfold)
lowers_on_tensors("aten::bincount")(gather.bincount)
lowers_on_tensors("aten::equal")(gather.equal)
lowers_on_tensors("aten::chunk", "aten::unsafe_chunk", "prim::ConstantChunk")(pieces.chunk)
lowers_on_tensors("aten::split", "aten::unsafe_split")(pieces.split)
lowers_on_tensors("aten::split_with_sizes", "aten::unsafe_split_with_sizes")(pieces.split_by_sizes)
lowers_on_tensors("aten::unbind")(pieces.unbind)
lowers_on_tensors("aten::repeat")(repeats.repeat)
lowers_on_tensors("aten::_pack_padded_sequence", "flambeau::packed_rows")(packing.pack)
lowers_on_tensors("aten::_pad_packed_sequence")(packing.pad)
lowers_on_tensors("aten::pad", "aten::constant_pad_nd")(repeats.pad)
lowers_on_tensors("aten::embedding_bag", "aten::_embedding_bag", "aten::_embedding_bag_forward_only")(
    bags.embedding_bag
)
lowers_on_tensors("aten::detach", "aten::alias")(arrays.same)
lowers_on_tensors("aten::positive", "aten::conj", "aten::resolve_conj", "aten::resolve_neg")(arrays.same)
lowers_on_tensors("aten::size", "prim::shape")(arrays.size)
lowers_on_tensors("aten::is_contiguous")(copies.is_contiguous)
lowers_on_tensors("aten::is_same_size")(copies.is_same_size)
lowers_on_tensors("aten::dim")(arrays.dim)
lowers_on_tensors("aten::numel")(arrays.numel)
lowers_on_tensors("aten::len")(arrays.length)
lowers_on_tensors("prim::dtype")(arrays.dtype_of)
lowers_on_tensors("prim::device")(arrays.device_of)
lowers_on_tensors("aten::Int")(lambda fn, node: arrays.to_number(fn, node, dtypes.int64))
lowers_on_tensors("aten::Float")(lambda fn, node: arrays.to_number(fn, node, dtypes.float64))
lowers_on_tensors("aten::Bool")(lambda fn, node: arrays.to_number(fn, node, dtypes.bool_))
lowers_on_tensors("aten::ComplexImplicit")(complex_numbers.of_element)
lowers_on_tensors("aten::real", "aten::imag")(complex_numbers.part_of_tensor)
lowers_on_tensors("aten::complex")(complex_numbers.of_parts)
lowers_on_tensors("aten::view_as_real")(complex_numbers.parts_of_tensor)
lowers_on_tensors("aten::FloatImplicit")(lambda fn, node: arrays.implicit(fn, node, dtypes.float64))
lowers_on_tensors("aten::IntImplicit")(lambda fn, node: arrays.implicit(fn, node, dtypes.int64))
lowers_on_tensors("aten::item")(lambda fn, node: arrays.to_number(fn, node, None))
lowers_on_tensors("aten::copy_")(writes.copy_)
lowers_on_tensors("aten::fill_", "aten::zero_")(writes.fill_)
