"""Automatic differentiation: the tape that records eager operators, and the engine that goes back over it.

>>> import flambeau
>>> x = flambeau.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

from __future__ import annotations

from flambeau.autograd import forward_ad, functional, graph, profiler
from flambeau.autograd import graphed_callables as _graphed_callables
from flambeau.autograd import program_operators as _program_operators  # registers them
from flambeau.autograd import tape as _tape
from flambeau.autograd import tensor_methods as _tensor_methods
from flambeau.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from flambeau.autograd.backward import backward, grad
from flambeau.autograd.function import Function
from flambeau.autograd.gradcheck import gradcheck, gradgradcheck
from flambeau.autograd.multithreading import is_multithreading_enabled as is_multithreading_enabled
from flambeau.autograd.multithreading import set_multithreading_enabled
from flambeau.autograd.variable import Variable
from flambeau.tensor.grad_mode import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from flambeau.util.import_paths import provide as _provide

__getattr__ = _provide(
    __name__, {"grad_mode": "enable_grad inference_mode no_grad set_grad_enabled set_multithreading_enabled"}
)

__all__ = [
    "Function", "Variable", "backward", "detect_anomaly", "enable_grad", "forward_ad", "functional", "grad",
    "gradcheck", "gradgradcheck", "graph", "inference_mode", "is_grad_enabled", "no_grad", "profiler",
    "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip
