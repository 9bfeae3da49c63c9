"""How a product runs: the tile kept in registers, whether columns are packed, what threads share.

Sizes and strides are part of it: the code is made for them, except for the number of rows, of which only the
tile and what is left over count. Every element is added up in one order, whatever thread computes it.
"""

from __future__ import annotations

from flambeau.codegen.costs import estimate_nanoseconds
from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.llvm.emitter import Target
from flambeau.codegen.planning import PARALLEL_FROM
from flambeau.codegen.products.blas import blas, imports
from flambeau.codegen.products.match import Product, match
from flambeau.codegen.schedule import Schedule
from flambeau.codegen.specialize import Specialized
from flambeau.util.record import dataclass, field

PACK_FROM = 1 << 16
"""Bytes of the right factor from which its columns are copied together, if enough rows use them."""
PACK_ROWS = 24
"""Rows from which copying columns together pays."""
DOTTED_ROWS, DOTTED_DEPTH = 16, 8
"""Rows up to which columns that lie across are taken as they are, and steps along the folded axis for each of them:
with fewer steps it takes longer to fold lanes together than to turn the columns round."""
STREAM_COLUMNS = 8
"""Vectors of columns from which a row vector times a matrix runs along the rows of the matrix."""
MOST_STREAMED = 1 << 16
"""Bytes of results kept at hand while a matrix streams by."""
LARGEST_PANEL = 1 << 22
"""Bytes of columns copied together from which BLAS, which cuts the folded axis too, is faster."""
BLAS_FROM, BLAS_FROM_NARROW = 1 << 31, 1 << 18
"""Multiplications from which BLAS is faster, on wide vectors and on vectors of 128 bits."""


@dataclass(frozen=True, slots=True)
class Tiling(Schedule):
    """The choices for one product."""

    form: str = "tiles"
    """`tiles` in registers, `dots` where both factors lie step by step, `stream` for a row vector times a matrix, or
    `blas` for what is left to NumPy's library."""
    rows: int = 1
    """Rows of a tile."""
    vectors: int = 1
    """Vectors of columns of a tile."""
    rest: int = 0
    """Rows left over after whole tiles."""
    packed: bool = False
    """Whether the columns of a tile are copied together first."""
    shared: str = "rows"
    """What the range of a call counts: `rows`, `columns` (in tiles), `outer` (the first axis of a stack), or `none`."""
    sizes: tuple[tuple[str, int], ...] = ()
    """Sizes that the code is made for; that of the rows is not among them."""
    strides: tuple[tuple[tuple[str, str], int], ...] = ()
    product: Product | None = field(default=None, compare=False, repr=False)

    def imports(self) -> dict[str, int]:
        """Addresses that the code is linked with, by symbol."""
        return imports() if self.form == "blas" else {}

    def key(self) -> str:
        """A line of text that tells schedules apart."""
        sizes = " ".join(f"{axis}={size}" for axis, size in self.sizes)
        strides = " ".join(f"{buffer}.{axis}:{step}" for (buffer, axis), step in self.strides)
        how = f"{self.form} {self.rows}x{self.vectors}x{self.lanes} rest={self.rest}{' packed' if self.packed else ''}"
        return f"product {how} by {self.shared} {sizes} {strides}"


def choose_tiling(special: Specialized, target: Target, threads: int) -> Tiling | None:
    """A tiling for `special`; None for what is no product, or one that plain loops serve."""
    product = match(special)
    if product is None or 0 in special.sizes.values():
        return None
    lanes = target.vector_bits // element_type(product.b.dtype).bits
    m = special.sizes[product.row] if product.row is not None else 1
    form, rows, vectors = _form(special, product, m, lanes, target)
    if not form:
        return None
    by_columns = form in ("stream", "dots", "packed")
    shared = "none" if form == "blas" else _shared(special, product, by_columns, rows, vectors * lanes, threads)
    return Tiling(
        vector_axis=product.column,
        lanes=lanes,
        unit=unit_buffers(special, product.column),
        fastmath=False,
        form=form.replace("packed", "tiles"),
        rows=rows,
        vectors=vectors,
        rest=m % rows,
        packed=form == "packed",
        shared=shared,
        sizes=tuple(sorted((a, s) for a, s in special.sizes.items() if a != product.row)),
        strides=tuple(sorted(special.strides.items())),
        product=product,
    )


def _form(special: Specialized, product: Product, m: int, lanes: int, target: Target) -> tuple[str, int, int]:
    """(form, rows of a tile, vectors of a tile); `packed` for tiles whose columns are copied, empty for loops."""
    n, k = special.sizes[product.column], special.sizes[product.inner]
    size = element_type(product.b.dtype).itemsize
    side_by_side = special.strides[product.b.name, product.column] == size
    step_by_step = all(special.strides[b.name, product.inner] == size for b in (product.a, product.b))
    rows, vectors = tile_shape(m, -(-n // lanes), target)
    is_deep = k >= (lanes if product.row is None else DOTTED_DEPTH * m)
    if not side_by_side and step_by_step and m <= DOTTED_ROWS and is_deep and lanes > 1:
        most = 4 if target.vector_registers >= 32 else 2
        return "dots", -(-m // -(-m // most)), 1
    if product.row is None:
        if not side_by_side:
            return "", 1, 1
        streams = n >= STREAM_COLUMNS * lanes and n * size <= MOST_STREAMED
        return "stream" if streams else "tiles", rows, vectors
    packed = not side_by_side or (m >= PACK_ROWS and n * k * size >= PACK_FROM)
    if _is_for_blas(special, product, k * vectors * lanes * size if packed else 0, m * n * k, target):
        return "blas", 1, 4
    return "packed" if packed else "tiles", rows, vectors


def _is_for_blas(special: Specialized, product: Product, panel: int, work: int, target: Target) -> bool:
    """Whether BLAS is there, can read the factors as they lie, and is the faster one."""
    enough = BLAS_FROM if target.vector_bits > 128 else BLAS_FROM_NARROW
    if (panel <= LARGEST_PANEL and work < enough) or blas() is None:
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


def split_product(special: Specialized, tiling: Tiling, threads: int) -> tuple[int, int, int]:
    """(size of the range of a call, turns of a piece, pieces); no turns: one thread does it all."""
    product = tiling.product
    assert product is not None
    grain = 1
    if tiling.shared == "none":
        return 1, 0, 1
    if tiling.shared == "outer":
        high = special.sizes[product.outer[0]]
    elif tiling.shared == "columns":
        high = -(-special.sizes[product.column] // (tiling.vectors * tiling.lanes))
    else:
        assert product.row is not None
        high, grain = special.sizes[product.row], tiling.rows
    nanoseconds = estimate_nanoseconds(special)
    if threads < 2 or nanoseconds < PARALLEL_FROM:
        return high, 0, 1
    pieces = min(threads * (1 if tiling.packed and tiling.shared == "rows" else 2), max(1, int(nanoseconds / 4000)))
    step = -(-high // pieces)
    step = -(-step // grain) * grain
    return (high, step, -(-high // step)) if step < high else (high, 0, 1)
