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
from flambeau.nn.container import ModuleDict, ModuleList, Sequential
from flambeau.nn.linear import Bilinear, Linear
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter
from flambeau.nn.parameter_containers import ParameterDict, ParameterList

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
    "ModuleDict",
    "ModuleList",
    "Parameter",
    "ParameterDict",
    "ParameterList",
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
