"""Automatic differentiation: the tape that records eager operators, and the engine that goes back over it.

>>> import flambeau
>>> x = flambeau.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

from __future__ import annotations

from flambeau.autograd import tape as _tape
from flambeau.autograd import tensor_methods as _tensor_methods
from flambeau.autograd.backward import backward, grad
from flambeau.ops.derivatives import fourier_formulas as _fourier
from flambeau.ops.derivatives import indexing_formulas as _indexing
from flambeau.ops.derivatives import linear_algebra_formulas as _linear_algebra
from flambeau.ops.derivatives import network_formulas as _network
from flambeau.ops.derivatives import product_formulas as _product
from flambeau.ops.derivatives import reduction_formulas as _reduction
from flambeau.ops.derivatives import special_formulas as _special
from flambeau.ops.derivatives import view_formulas as _view
from flambeau.ops.derivatives import window_formulas as _window

__all__ = ["backward", "grad"]
