"""Which module code is in while it is traced.

>>> from flambeau import fx, nn
>>> class Net(nn.Module):
...     def __init__(self):
...         super().__init__()
...         self.inner = nn.Sequential(nn.ReLU())
...     def forward(self, x):
...         return self.inner(x) + 1
>>> tracer = fx.Tracer()
>>> _ = tracer.trace(Net())
>>> [(name, path) for name, (path, _) in tracer.node_name_to_scope.items()]
[('x', ''), ('inner_0', 'inner.0'), ('add', ''), ('output', '')]
"""

from __future__ import annotations

from typing import Any


class Scope:
    """A module, by its qualified name and its class.

    >>> Scope("encoder.0", int).module_path
    'encoder.0'
    """

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path = module_path
        self.module_type = module_type


class ScopeContextManager:
    """Within the block, a scope says what another one says.

    Args:
        scope: the scope that is changed.
        current_scope: what it says in the block.

    >>> scope = Scope("", None)
    >>> with ScopeContextManager(scope, Scope("layer", int)):
    ...     scope.module_path
    'layer'
    >>> scope.module_path
    ''
    """

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._scope = scope
        self._before = Scope(scope.module_path, scope.module_type)
        self._set(current_scope)

    def _set(self, other: Scope) -> None:
        self._scope.module_path, self._scope.module_type = other.module_path, other.module_type

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *error: object) -> None:
        self._set(self._before)
