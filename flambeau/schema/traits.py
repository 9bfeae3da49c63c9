"""Traits of operators: what holds of every call of an overload, for the analyses, passes and back ends that ask.

Each is a field of its own in place of a list of operators where the question is asked: a new operator says them where
it is declared, and nowhere else.

>>> Traits(fails=Fails.NEVER)
Traits(fails=<Fails.NEVER: 'never'>)
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final

from flambeau.util.record import dataclass


class Fails(Enum):
    """When a call may raise, for operands of the right types."""

    PERHAPS = "perhaps"
    """Nothing is said: only running it tells."""
    NEVER = "never"
    """Whatever the operands are."""
    NOT_ON_REALS = "not on reals"
    """Never if all operands are ints, floats and bools."""
    ON_ZERO = "on zero"
    """Of ints, floats and bools only if the last operand is 0, or -1: divisions, and steps of ranges."""
    ON_AXIS = "on axis"
    """Only if the tensor does not have the axis that is asked about."""
    ON_FORM = "on form"
    """Only if there are fewer further operands than `{}` in the first."""


class Role(Enum):
    """What networks use an operator as, where passes treat all of a kind alike."""

    NONE = "none"
    ACTIVATION = "activation"
    """A pointwise function behind a layer, which may as well write into what the layer gave."""
    DROPOUT = "dropout"
    """Its first operand itself unless the third one, `train`, is true; in place too."""
    CONVOLUTION = "convolution"
    """Of an input, a weight and maybe a bias, each output channel alone; the weight has two axes more than windows."""
    RECURRENCE = "recurrence"
    """Of sequences, all their steps; no operand is broadcast."""
    NORMALISATION = "normalisation"
    """Shifts and scales its input, in the input's dtype."""
    CONVERSION = "conversion"
    """Its first operand with another dtype, device or format; that itself where nothing differs, if it may be."""
    NUMBER_CAST = "number cast"
    """Between numbers, or from a tensor with one element to a number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConditionalWrite:
    """Operands that a call writes although its schema does not say so, if a flag among its arguments is true."""

    flag: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Traits:
    """The traits of one overload."""

    fails: Fails = Fails.PERHAPS
    """When it may raise; pointwise operators of one float tensor never do, which need not be said."""
    role: Role = Role.NONE
    """What networks use it as."""
    writes_when: ConditionalWrite | None = None
    """What it writes without saying so in its schema: the running statistics of a norm in training."""
    draws_by: str = ""
    """The argument with the probability of a dropout within it: it draws random numbers unless that is 0."""
    draws_normals: bool = False
    """Whether it draws normal numbers from NumPy's generator, which makes two at a time, or drops the second."""
    needs_order: bool = False
    """Whether an operand's elements must be in order: of others, what is found depends on how one searches."""
    may_copy: bool = False
    """Of a view: whether it gives a copy where no view shows what is asked for."""
    may_be_operand: bool = False
    """Of a view: whether it gives its operand itself where there is nothing to change."""
    stays: Callable[..., bool] | None = None
    """Of one that gives its operand itself where there is nothing to change: whether that is seen at a glance, given
    the operand, in the host's memory, and what Python calls it with by position besides."""
    gives_slices: bool = False
    """Of several views: whether each stands for itself, as if it had been sliced alone, so that it may be written."""
    stores: bool = False
    """Whether it puts elements of another operand into its first one, as they are, and does nothing else."""
    changes_layout: bool = False
    """Whether it changes the sizes, strides or flags of a tensor that exists, not only its elements."""
    spelling: str = ""
    """How Python writes it, if not by its name: `+`, `is not`, `hex`."""
    spelling_in_place: str = ""
    """How Python writes the in-place form: `+=`."""
    archive_version: int = 0
    """The first version of archives in which the name means what it means today, if its meaning ever changed."""
    is_implicit_cast: bool = False
    """Whether programs call it without writing it, where they pass a tensor with one element as a number."""
    commutes: bool = False
    """Whether the first two operands may change places, where further ones have their defaults."""
    has_routine: bool = False
    """Whether native code that was compiled before any program came computes it (`codegen.routines`)."""
    swaps_axes_of_results: bool = False
    """Whether results may lie in another order than row-major though all operands lie row-major."""
    has_followers: bool = False
    """Whether the routine takes on what follows it: norms by known statistics, additions, bounds."""
    folds_as: str = ""
    """By which operation of integers a loop that applies it again and again may put parts of its work together:
    `add` for differences too, for x - a - b is x - (a + b).
    """

    layout_by_trial: bool = False
    """Whether only a run tells how results lie in memory, though a rule tells their sizes: LAPACK's lie by columns."""
    instead: str = ""
    """What to write in its place, if the name is an older one: Python's calls by it warn."""
    simple_numbers: frozenset[float] = frozenset()
    """Values of its number for which a kernel is much simpler than for any: such a one is a constant of the kernel."""
    older_numbers: tuple[str, ...] = ()
    """Numbers with names that calls may also pass by position, between the tensors, as they once did."""

    number_is_operand: bool = False
    """Whether calls with a number in the place of a tensor are, to who looks on, of the overload that takes tensors:
    `add.Tensor(x, 1)`, as in PyTorch, whose Python has no other.
    """
    depends_on_precision: bool = False
    """Whether it gives what only the dtype itself knows, the next number or the largest: halves are not computed in
    float32.
    """
    out_apart: bool = False
    """Whether `out` may share no memory with operands, not even all of it: they are read while it is written."""
    out_dtype: str = ""
    """The error if `out` has another dtype than the result, with `{wanted}` and `{got}` (dtypes); if empty, it is
    cast."""

    def in_place(self) -> Traits:
        """Those of the in-place form of an operator that has these."""
        return self if self is PLAIN else Traits(
            role=self.role, stores=self.stores, archive_version=self.archive_version, spelling=self.spelling_in_place,
            older_numbers=self.older_numbers, number_is_operand=self.number_is_operand,
        )  # fmt: skip

    def __repr__(self) -> str:
        said = ((name, getattr(self, name)) for name in self.__slots__)
        return f"Traits({', '.join(f'{n}={v!r}' for n, v in said if v != getattr(PLAIN, n))})"


PLAIN: Final = Traits()
"""Nothing beyond what the rest of a declaration says."""
