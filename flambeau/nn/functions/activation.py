"""Activations of `nn.functional` that can write into their input, and those that no operator is named for.

Like all of `nn.functional` they are written in the scripted language: programs that call them compile them. A call that
says nothing of `inplace` is the operator itself.
"""

from __future__ import annotations

from flambeau.nn.functions import warned
from flambeau.ops.families.composite import F
from flambeau.ops.surface import runs
from flambeau.schema.dtype import DType
from flambeau.tensor.tensor import Tensor
from flambeau.util.choice import Shortcut
from flambeau.util.scripting import is_scripting


@runs("aten::relu", Shortcut("inplace", 1))
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0).

    Args:
        input: the tensor.
        inplace: whether the input is written to.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.relu(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([0., 0., 3.])
    """
    return F.relu_(input) if inplace else F.relu(input)


@runs("aten::relu6", Shortcut("inplace", 1))
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x, 0), 6).

    Args:
        input: the tensor.
        inplace: whether the input is written to.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.relu6(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([0., 0., 3.])
    """
    return F.relu6_(input) if inplace else F.relu6(input)


@runs("aten::selu", Shortcut("inplace", 1))
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with the constants that keep mean 0 and variance 1 through layers: Klambauer et al. (2017).

    Args:
        input: the tensor.
        inplace: whether the input is written to.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.selu(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-1.5202,  0.0000,  3.1521])
    """
    return F.selu_(input) if inplace else F.selu(input)


@runs("aten::silu", Shortcut("inplace", 1))
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x sigmoid(x).

    Args:
        input: the tensor.
        inplace: whether the input is written to.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.silu(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-0.2384,  0.0000,  2.8577])
    """
    return F.silu_(input) if inplace else F.silu(input)


@runs("aten::mish", Shortcut("inplace", 1))
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x tanh(softplus(x)).

    Args:
        input: the tensor.
        inplace: whether the input is written to.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.mish(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-0.2525,  0.0000,  2.9865])
    """
    return F.mish_(input) if inplace else F.mish(input)


@runs("aten::hardswish", Shortcut("inplace", 1))
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x relu6(x + 3) / 6.

    Args:
        input: the tensor.
        inplace: whether the input is written to.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.hardswish(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-0.3333,  0.0000,  3.0000])
    """
    return F.hardswish_(input) if inplace else F.hardswish(input)


@runs("aten::hardsigmoid", Shortcut("inplace", 1))
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """relu6(x + 3) / 6.

    Args:
        input: the tensor.
        inplace: whether the input is written to.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.hardsigmoid(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([0.1667, 0.5000, 1.0000])
    """
    return F.hardsigmoid_(input) if inplace else F.hardsigmoid(input)


@runs("aten::elu", Shortcut("inplace", 2))
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x above 0, alpha (exp(x) - 1) below.

    Args:
        input: the tensor.
        alpha: how steep or how large the negative side is.
        inplace: whether the input is written to.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.elu(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-0.8647,  0.0000,  3.0000])
    """
    return F.elu_(input, alpha) if inplace else F.elu(input, alpha)


@runs("aten::celu", Shortcut("inplace", 2))
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1)).

    Args:
        input: the tensor.
        alpha: how steep or how large the negative side is.
        inplace: whether the input is written to.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.celu(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-0.8647,  0.0000,  3.0000])
    """
    return F.celu_(input, alpha) if inplace else F.celu(input, alpha)


@runs("aten::leaky_relu", Shortcut("inplace", 2))
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x above 0, negative_slope x below.

    Args:
        input: the tensor.
        negative_slope: the slope below zero.
        inplace: whether the input is written to.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.leaky_relu(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-0.0200,  0.0000,  3.0000])
    """
    return F.leaky_relu_(input, negative_slope) if inplace else F.leaky_relu(input, negative_slope)


@runs("aten::threshold", Shortcut("inplace", 3))
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x above `threshold`, `value` elsewhere.

    Args:
        input: the tensor.
        threshold: where the function changes.
        value: what stands where the input is not above the threshold.
        inplace: whether the input is written to.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.threshold(flambeau.tensor([-2.0, 0.0, 3.0]), 1.0, 0.5)
    tensor([0.5000, 0.5000, 3.0000])
    """
    return F.threshold_(input, threshold, value) if inplace else F.threshold(input, threshold, value)


@runs("aten::rrelu", Shortcut("inplace", 4))
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """x above 0, x times a random slope below while training, the mean slope otherwise.

    Args:
        input: the tensor.
        lower: the smallest slope.
        upper: the largest slope.
        training: whether the module is being trained.
        inplace: whether the input is written to.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.rrelu(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-0.4583,  0.0000,  3.0000])
    """
    return F.rrelu_(input, lower, upper, training) if inplace else F.rrelu(input, lower, upper, training)


@runs("aten::hardtanh", Shortcut("inplace", 3))
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x brought between `min_val` and `max_val`. Raises ValueError if these are in the wrong order.

    Args:
        input: the tensor.
        min_val: the smallest value.
        max_val: the largest value.
        inplace: whether the input is written to.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.hardtanh(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-1.,  0.,  1.])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return F.hardtanh_(input, min_val, max_val) if inplace else F.hardtanh(input, min_val, max_val)


@runs("aten::sigmoid")
def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x)).

    Args:
        input: the tensor.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.sigmoid(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([0.1192, 0.5000, 0.9526])
    """
    return F.sigmoid(input)


@runs("aten::tanh")
def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent.

    Args:
        input: the tensor.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.tanh(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-0.9640,  0.0000,  0.9951])
    """
    return F.tanh(input)


@runs("aten::log_sigmoid")
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(sigmoid(x)), accurate far out.

    Args:
        input: the tensor.
        out: a tensor for the result.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.logsigmoid(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-2.1269, -0.6931, -0.0486])
    """
    return F.log_sigmoid(input) if out is None else F.log_sigmoid(input, out=out)


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|).

    Args:
        input: the tensor.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.softsign(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-0.6667,  0.0000,  0.7500])
    """
    return F.div(input, F.add(F.abs(input), 1))


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x).

    Args:
        input: the tensor.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.tanhshrink(flambeau.tensor([-2.0, 0.0, 3.0]))
    tensor([-1.0360,  0.0000,  2.0049])
    """
    return F.sub(input, F.tanh(input))


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """exp(x) divided by its sum along `dim`; computed in `dtype` if given.

    Args:
        input: the tensor.
        dim: the dimension along which it works.
        _stacklevel: accepted, without effect.
        dtype: the dtype of its parameters; the default one if None.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.softmax(flambeau.tensor([-2.0, 0.0, 3.0]), dim=0)
    tensor([0.0064, 0.0471, 0.9465])
    """
    return F.softmax(input, _last_dim("softmax", input, dim), dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """The logarithm of `softmax`, accurate far out.

    Args:
        input: the tensor.
        dim: the dimension along which it works.
        _stacklevel: accepted, without effect.
        dtype: the dtype of its parameters; the default one if None.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.log_softmax(flambeau.tensor([-2.0, 0.0, 3.0]), dim=0)
    tensor([-5.0550, -3.0550, -0.0550])
    """
    return F.log_softmax(input, _last_dim("log_softmax", input, dim), dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """`softmax` of -x.

    Args:
        input: the tensor.
        dim: the dimension along which it works.
        _stacklevel: accepted, without effect.
        dtype: the dtype of its parameters; the default one if None.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.softmin(flambeau.tensor([-2.0, 0.0, 3.0]), dim=0)
    tensor([0.8756, 0.1185, 0.0059])
    """
    return F.softmax(F.neg(input), _last_dim("softmin", input, dim), dtype)


def _last_dim(name: str, input: Tensor, dim: int | None) -> int:
    """The dimension that `softmax` means when none is given: that of the classes, as it was before it had to be."""
    if dim is not None:
        return dim
    rank = input.dim()
    implicit = 0 if rank == 0 or rank == 1 or rank == 3 else 1
    if not is_scripting():
        warned.of_implicit_dim(name, implicit)
    return implicit


def gumbel_softmax(
    logits: Tensor, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A draw from the Gumbel-softmax distribution: Jang et al. (2017).

    With `hard` the draw is one-hot; gradients go through the soft one.

    Args:
        logits: unnormalised logarithms of probabilities.
        tau: the temperature.
        hard: whether the result is one-hot.
        eps: a small number that keeps a divisor from zero.
        dim: the dimension along which it works.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.gumbel_softmax(flambeau.zeros(2, 3), hard=True).sum(-1)
    tensor([1., 1.])
    """
    gumbels = F.neg(F.log(F.exponential_(F.empty_like(logits, memory_format=0))))
    soft = F.softmax(F.div(F.add(logits, gumbels), tau), dim)
    if not hard:
        return soft
    index = F.argmax(soft, dim, True)
    chosen = F.scatter(F.zeros_like(logits), dim, index, 1.0)
    return F.add(F.sub(chosen, F.detach(soft)), soft)
