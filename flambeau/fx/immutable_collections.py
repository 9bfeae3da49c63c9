"""Lists and dictionaries of arguments of nodes, which are changed by giving the node others.

>>> arguments = immutable_list([1, 2])
>>> arguments
[1, 2]
>>> try:
...     arguments.append(3)
... except TypeError as error:
...     print(str(error)[:54])
'immutable_list' object does not support mutation: the
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

NO_MUTATION: Final = (
    "'{name}' object does not support mutation: the arguments of a node are changed by giving it others, "
    "node.args = (...), node.kwargs = {{...}}, or node.update_arg(position, value)"
)


class immutable_list(list[Any]):  # noqa: N801
    """A list that stays as it is. Raises TypeError for every change.

    >>> immutable_list([1]) == [1]
    True
    """

    def __reduce__(self) -> Any:
        return immutable_list, (list(self),)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))


class immutable_dict(dict[Any, Any]):  # noqa: N801
    """A dictionary that stays as it is. Raises TypeError for every change.

    >>> immutable_dict({"alpha": 2})["alpha"]
    2
    """

    def __reduce__(self) -> Any:
        return immutable_dict, (dict(self),)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


def _refusal(cls: type) -> Callable[..., Any]:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(NO_MUTATION.format(name=cls.__name__))

    return refuse


for _cls, _names in (
    (immutable_list, "__delitem__ __iadd__ __imul__ __setitem__ append clear extend insert pop remove reverse sort"),
    (immutable_dict, "__delitem__ __ior__ __setitem__ clear pop popitem setdefault update"),
):
    for _name in _names.split():
        setattr(_cls, _name, _refusal(_cls))


def frozen(value: Any) -> Any:
    """A value with all lists and dictionaries in it as those that stay as they are."""
    if isinstance(value, tuple):
        parts = [frozen(one) for one in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return immutable_list([frozen(one) for one in value])
    if isinstance(value, dict):
        return immutable_dict({key: frozen(one) for key, one in value.items()})
    return value
