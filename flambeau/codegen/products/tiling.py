"""How a product runs: the tile kept in registers, whether columns are packed, what threads share.

It is chosen for a class of sizes: sizes and strides themselves are arguments of the code, but for steps of one element.
Every element is added up in one order, whatever thread computes it.
"""

from __future__ import annotations

from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.llvm.emitter import Target
from flambeau.codegen.products.blas import blas, imports
from flambeau.codegen.products.match import Product, match
from flambeau.codegen.schedule import Schedule, Split
from flambeau.codegen.specialize import Specialized
from flambeau.util.record import dataclass, field
from flambeau.util.thread_count import ANY

NANOSECONDS_EACH = 4000
"""Nanoseconds of a piece, at least."""
PACK_FROM = 1 << 16
"""Bytes of the right factor from which its columns are copied together, if enough rows use them."""
PACK_ROWS = 24
"""Rows from which copying columns together pays."""
DOTTED_ROWS, DOTTED_ROWS_OF_MANY, DOTTED_DEPTH = 16, 15, 8
"""Rows up to which columns that lie across are taken as they are, with 16 registers and with 32, whose tiles are that
much larger; and steps along the folded axis for each of them: with fewer it takes longer to fold lanes together than to
turn the columns round."""
STREAM_COLUMNS = 8
"""Vectors of columns from which a row vector times a matrix runs along the rows of the matrix."""
MOST_STREAMED = 1 << 16
"""Bytes of results kept at hand while a matrix streams by."""
MOST_EXACT_ROWS = 8
"""Numbers of rows that are classes of their own: a tile has all of them."""
LARGEST_PANEL = 1 << 22
"""Bytes of columns copied together from which BLAS, which cuts the folded axis too, is faster."""
STRETCH = 128
"""Steps along the folded axis that are added up one after another; what they come to is added to what came before."""
LONG = 2 * STRETCH
"""Steps from which sums are taken in stretches."""
BLAS_FROM, BLAS_FROM_NARROW = 1 << 31, 1 << 18
"""Multiplications from which BLAS is faster, on wide vectors and on vectors of 128 bits."""


@dataclass(frozen=True, slots=True)
class Tiling(Schedule):
    """The choices for one product.

    >>> Tiling(lanes=8, rows=4, vectors=2).key()
    'product tiles 4x2x8 rest by rows side by side: '
    """

    form: str = "tiles"
    """`tiles` in registers, `dots` where both factors lie step by step, `stream` for a row vector times a matrix, or
    `blas` for what is left to NumPy's library."""
    rows: int = 1
    """Rows of a tile."""
    vectors: int = 1
    """Vectors of columns of a tile."""
    has_rest: bool = True
    """Whether rows may be left over after whole tiles."""
    is_long: bool = False
    """Whether there may be so many steps along the folded axis that they are added up in stretches."""
    packed: bool = False
    """Whether the columns of a tile are copied together first."""
    shared: str = "rows"
    """What the range of a call counts: `rows`, `columns` (in tiles), `outer` (the first axis of a stack), or `none`."""
    sides: frozenset[tuple[str, str]] = frozenset()
    """Buffers, and axes along which their elements are known to lie side by side."""
    blas_threads: int = ANY
    """Threads that BLAS may use, or `ANY`."""
    product: Product | None = field(default=None, compare=False, repr=False)

    def imports(self) -> dict[str, int]:
        """Addresses that the code is linked with, by symbol."""
        return imports(self.blas_threads) if self.form == "blas" else {}

    def key(self) -> str:
        """A line of text that tells schedules apart."""
        sides = " ".join(f"{buffer}.{axis}" for buffer, axis in sorted(self.sides))
        rest, long = " rest" if self.has_rest else "", " long" if self.is_long else ""
        how = f"{self.form} {self.rows}x{self.vectors}x{self.lanes}{rest}{long}{' packed' if self.packed else ''}"
        own = f" threads={self.blas_threads}" if self.blas_threads != ANY else ""
        return f"product {how} by {self.shared} side by side: {sides}{own}"


def choose_tiling(
    typical: Specialized, special: Specialized, largest: Specialized, target: Target, threads: int,
    wanted: tuple[str, int, int] | None = None,
) -> Tiling | None:  # fmt: skip
    """A tiling for calls like `special`, whose sizes are of the same classes as those of `typical`, the least, and of
    `largest`; None for what is no product, or one that plain loops serve.

    `wanted`: the form, rows and vectors of a tile to take in place of those that are chosen; None where BLAS cannot
    serve that is wanted.

    >>> from flambeau.codegen.lower import lower_graph
    >>> from flambeau.codegen.specialize import specialize
    >>> from flambeau.ir.parser import parse_ir
    >>> text = "graph(%x : Float(*, *), %w : Float(*, *)):\\n  %y : Float(*, *) = aten::mm(%x, %w)\\n  return (%y)"
    >>> kernel = lower_graph(parse_ir(text)).kernel
    >>> n = 64  # of rows, columns and steps; the strides are those of rows side by side
    >>> strides = {(b.name, axis): 4 * n ** (1 - k) for b in kernel.buffers for k, axis in enumerate(b.axes)}
    >>> special = specialize(kernel, {axis: n for axis in kernel.axes}, strides, kernel.axes)
    >>> tiling = choose_tiling(special, special, special, Target(vector_bits=256), 1, ("tiles", 4, 2))
    >>> tiling.form, tiling.rows, tiling.vectors * tiling.lanes
    ('tiles', 4, 16)
    """
    product = match(special)
    if product is None or 0 in special.sizes.values():
        return None
    lanes = target.vector_bits // element_type(product.dtype).bits
    m = typical.sizes[product.row] if product.row is not None else 1
    form, rows, vectors = wanted or _form(typical, special, product, m, lanes, target)
    if wanted is not None and not _can_be(form, special, product):
        return None
    if form == "stream" and not _fits_stream(largest, product):
        form = "tiles"
    if not form:
        return None
    by_columns = form in ("stream", "dots", "packed")
    shared = "none" if form == "blas" else _shared(typical, product, by_columns, rows, vectors * lanes, threads)
    return Tiling(
        vector_axis=product.column,
        lanes=lanes,
        unit=unit_buffers(special, product.column),
        fastmath=False,
        form=form.replace("packed", "tiles"),
        rows=rows,
        vectors=vectors,
        has_rest=m > MOST_EXACT_ROWS or m % rows != 0,
        is_long=largest.sizes[product.inner] >= (LONG * lanes if form == "dots" else LONG),
        packed=form == "packed",
        shared=shared,
        sides=_sides(special),
        product=product,
    )


def _sides(special: Specialized) -> frozenset[tuple[str, str]]:
    """The axes along which elements of buffers lie side by side."""
    itemsize = {b.name: element_type(b.dtype).itemsize for b in special.kernel.buffers}
    return frozenset(pair for pair, step in special.strides.items() if step == itemsize[pair[0]])


def _form(
    typical: Specialized, special: Specialized, product: Product, m: int, lanes: int, target: Target
) -> tuple[str, int, int]:
    """(form, rows of a tile, vectors of a tile); `packed` for tiles whose columns are copied, empty for loops."""
    n, k = typical.sizes[product.column], typical.sizes[product.inner]
    size = element_type(product.b.dtype).itemsize
    side_by_side = special.strides.get((product.b.name, product.column)) == size
    rows, vectors = tile_shape(m, -(-n // lanes), target)
    is_deep = k >= (lanes if product.row is None else DOTTED_DEPTH * m)
    most_dotted = DOTTED_ROWS_OF_MANY if target.vector_registers >= 32 else DOTTED_ROWS
    if m <= most_dotted and is_deep and lanes > 1 and not side_by_side and _is_step_by_step(special, product):
        most = 4 if target.vector_registers >= 32 else 2
        return "dots", -(-m // -(-m // most)), 1
    if product.row is None:
        if not side_by_side:
            return "", 1, 1
        return ("tiles", "stream")[n >= STREAM_COLUMNS * lanes], rows, vectors
    packed = not side_by_side or _pays_to_pack(product, m, n * k * size)
    if _is_for_blas(special, product, k * vectors * lanes * size if packed else 0, m * n * k, target):
        return "blas", 1, 4
    return "packed" if packed else "tiles", rows, vectors


def _pays_to_pack(product: Product, rows: int, factor: int) -> bool:
    """Whether columns that lie side by side are copied together: many that many rows use, or ones that are widened."""
    return product.is_widened or (rows >= PACK_ROWS and factor >= PACK_FROM)


def _is_step_by_step(special: Specialized, product: Product) -> bool:
    """Whether the elements of both factors lie side by side along the folded axis; what is repeated has none there."""
    size = element_type(product.b.dtype).itemsize
    return all(special.strides.get((b.name, product.inner)) == size for b in (product.a, product.b))


def _fits_stream(largest: Specialized, product: Product) -> bool:
    """Whether the results of every call that the code may serve are few enough to be kept at hand."""
    return largest.sizes[product.column] * element_type(product.dtype).itemsize <= MOST_STREAMED


def _is_for_blas(special: Specialized, product: Product, panel: int, work: int, target: Target) -> bool:
    """Whether BLAS is there, can read the factors as they lie, and is the faster one."""
    enough = BLAS_FROM if target.vector_bits > 128 else BLAS_FROM_NARROW
    return (panel > LARGEST_PANEL or work >= enough) and _is_readable_by_blas(special, product)


def _can_be(form: str, special: Specialized, product: Product) -> bool:
    """Whether a product can be computed in a form: tiles that are not copied want columns side by side."""
    if form == "blas":
        return product.row is not None and _is_readable_by_blas(special, product)
    size = element_type(product.b.dtype).itemsize
    return form == "packed" or special.strides.get((product.b.name, product.column)) == size


def _is_readable_by_blas(special: Specialized, product: Product) -> bool:
    """Whether BLAS is there, and can read the factors as they lie."""
    if blas() is None or product.is_widened:
        return False
    size = element_type(product.b.dtype).itemsize
    assert product.row is not None
    for b, axes in ((product.a, (product.row, product.inner)), (product.b, (product.inner, product.column))):
        steps = [special.strides.get((b.name, a), 0) for a in axes]
        far, near = max(steps), min(steps)
        least = size * special.sizes[axes[0] if steps[0] == near else axes[1]]
        if near != size or far % size or far < least or max(special.sizes.values()) >= 1 << 31:
            return False
    return True


def unit_buffers(special: Specialized, axis: str) -> frozenset[str]:
    """The buffers whose elements lie side by side along an axis."""
    return frozenset(
        b.name
        for b in special.kernel.buffers
        if axis in b.axes and special.strides[b.name, axis] == element_type(b.dtype).itemsize
    )


def tile_shape(m: int, vectors: int, target: Target) -> tuple[int, int]:
    """(rows, vectors of columns) of a tile that fills the registers but for the factors' own."""
    many = target.vector_registers >= 32
    most = 8 if many else 4 if vectors > 2 else 6
    rows = -(-m // -(-m // most)) if m < 8 * most else most
    if vectors == 1 and rows == most:
        return rows, 1
    by_rows = {1: 8, 2: 8, 3: 6, 4: 5, 5: 4, 6: 4} if many else {1: 8, 2: 5, 3: 3, 4: 3, 5: 2, 6: 2}
    return rows, min(vectors, by_rows.get(rows, 2))


def _shared(special: Specialized, product: Product, by_columns: bool, rows: int, width: int, threads: int) -> str:
    """Stacks are shared out first; then columns, if they are copied or enough, or rows."""
    if product.outer and special.sizes[product.outer[0]] >= 2 * threads:
        return "outer"
    m = special.sizes[product.row] if product.row is not None else 1
    if product.outer or m < 2 * rows or (by_columns and special.sizes[product.column] >= 2 * threads * width):
        return "columns" if not product.outer else "outer"
    return "rows"


def split_product(special: Specialized, tiling: Tiling, threads: int) -> Split:
    """How the range of a call is shared out.

    >>> from flambeau.codegen.lower import lower_graph
    >>> from flambeau.codegen.specialize import specialize
    >>> from flambeau.ir.parser import parse_ir
    >>> text = "graph(%x : Float(*, *), %w : Float(*, *)):\\n  %y : Float(*, *) = aten::mm(%x, %w)\\n  return (%y)"
    >>> kernel = lower_graph(parse_ir(text)).kernel
    >>> n = 64  # of rows, columns and steps; the strides are those of rows side by side
    >>> strides = {(b.name, axis): 4 * n ** (1 - k) for b in kernel.buffers for k, axis in enumerate(b.axes)}
    >>> special = specialize(kernel, {axis: n for axis in kernel.axes}, strides, kernel.axes)
    >>> tiling = choose_tiling(special, special, special, Target(vector_bits=256), 2, ("tiles", 4, 2))
    >>> split_product(special, tiling, threads=2).most_pieces > 1
    True
    """
    product = tiling.product
    assert product is not None
    most = 0 if threads < 2 else threads * (1 if tiling.packed and tiling.shared == "rows" else 2)
    if tiling.shared == "none":
        return Split(None)
    if tiling.shared == "outer":
        return Split(product.outer[0], most_pieces=most, each=NANOSECONDS_EACH)
    if tiling.shared == "columns":
        return Split(product.column, tiling.vectors * tiling.lanes, most_pieces=most, each=NANOSECONDS_EACH)
    return Split(product.row, grain=tiling.rows, most_pieces=most, each=NANOSECONDS_EACH)
