"""Functions that transform functions: gradients, Jacobians, Hessians, batches.

>>> import flambeau
>>> from flambeau.func import grad, vmap
>>> vmap(grad(lambda x: x**2))(flambeau.tensor([1.0, 2.0]))
tensor([2., 4.])
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from flambeau.batching.vmap import vmap
from flambeau.func.forward import jvp, linearize
from flambeau.func.functionalize import functionalize
from flambeau.func.jacobians import hessian, hvp, jacfwd, jacrev
from flambeau.func.modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from flambeau.func.reverse import grad, grad_and_value, value_and_grad, vjp
from flambeau.util.absent_names import refuse as _refuse

if not _TYPE_CHECKING:  # for checkers of types, there is what there is
    __getattr__ = _refuse(__name__)

__all__ = [
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "hvp",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "value_and_grad",
    "vjp",
    "vmap",
]
