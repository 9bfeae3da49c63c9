"""Automatic differentiation: the tape that records eager operators, and the engine that goes back over it.

>>> import flambeau
>>> x = flambeau.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

from __future__ import annotations

from flambeau.autograd import forward_ad, functional
from flambeau.autograd import tape as _tape
from flambeau.autograd import tensor_methods as _tensor_methods
from flambeau.autograd.backward import backward, grad

__all__ = ["backward", "forward_ad", "functional", "grad"]
