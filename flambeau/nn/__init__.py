"""Modules: parameters, buffers and submodules with a `forward`, and the layers built from them."""

from flambeau.nn import functional, init
from flambeau.nn.activation import (
    ELU,
    GELU,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    Identity,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
)
from flambeau.nn.container import ModuleList, Sequential
from flambeau.nn.linear import Bilinear, Linear
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter

__all__ = [
    "ELU",
    "GELU",
    "Bilinear",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "Identity",
    "LeakyReLU",
    "Linear",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "Module",
    "ModuleList",
    "Parameter",
    "ReLU",
    "ReLU6",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Tanh",
    "functional",
    "init",
]
