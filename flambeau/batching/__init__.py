"""Batching: operators on whole batches of tensors, for functions that are written for one."""

from flambeau.batching import along_axes as _along_axes
from flambeau.batching import drawing as _drawing
from flambeau.batching import folding as _folding
from flambeau.batching import networks as _networks
from flambeau.batching import places as _places
from flambeau.batching import products as _products
from flambeau.batching import sizes as _sizes
from flambeau.batching.vmap import vmap

__all__ = ["vmap"]
