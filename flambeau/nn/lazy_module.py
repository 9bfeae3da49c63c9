"""Modules that learn the sizes of their parameters from the first input that they are called with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from flambeau.nn.module import Module
from flambeau.nn.uninitialized import is_lazy

NOT_FULLY = "module {name} has not been fully initialized: initialize_parameters left {what} without sizes"
NOT_WRITTEN = "initialize_parameters is not implemented for {name}: it materializes what has no sizes yet"
_Base = Module if TYPE_CHECKING else object


class LazyModuleMixin(_Base):  # type: ignore[misc, valid-type]
    """What goes before `Module` among the bases of a lazy module.

    Its constructor makes `UninitializedParameter`s and `UninitializedBuffer`s; `initialize_parameters`, which is given
    the arguments of the first call, materializes them. Then the module becomes one of the class `cls_to_become`, if
    there is one.

    >>> import flambeau
    >>> layer = flambeau.nn.LazyLinear(2)
    >>> layer(flambeau.ones(5, 3)).shape, layer
    (flambeau.Size([5, 2]), Linear(in_features=3, out_features=2, bias=True))
    """

    cls_to_become: ClassVar[type[Module] | None] = None
    _is_inferred = False

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give sizes to what has none, by the first call's arguments. Raises NotImplementedError unless written."""
        raise NotImplementedError(NOT_WRITTEN.format(name=type(self).__name__))

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer of its own has no sizes."""
        return bool(self._without_sizes())

    def _without_sizes(self) -> list[str]:
        return [n for table in (self._parameters, self._buffers) for n, value in table.items() if is_lazy(value)]

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not self._is_inferred:
            self.initialize_parameters(*args, **kwargs)
            if left := self._without_sizes():
                raise RuntimeError(NOT_FULLY.format(name=self._get_name(), what=", ".join(left)))
            if self.cls_to_become is None:
                self._is_inferred = True
            else:
                self.__class__ = self.cls_to_become  # type: ignore[assignment]  # it is lazy no more
        return Module._run(self, args, kwargs)
