"""Products of matrices and vectors: which loop nests are one, how they are tiled, and the code of the tiles."""

from flambeau.codegen.products.emit import emit_product
from flambeau.codegen.products.match import is_product
from flambeau.codegen.products.tiling import Tiling, choose_tiling, split_product

__all__ = ["Tiling", "choose_tiling", "emit_product", "is_product", "split_product"]
