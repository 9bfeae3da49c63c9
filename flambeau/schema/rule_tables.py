"""Code about operators, registered where it is written: lowerings, rewrites, evaluations.

What holds of an operator is a field of its declaration (`schema.opdef`, `schema.traits`); what some part of the house
does with it is code of that part, and says there which operators it is for. Each purpose has one table, and `listing`
shows them all.

>>> doubles = RuleTable[str]("doubled, in this example")
>>> @doubles("aten::add", "aten::mul")
... def _twice(name: str) -> str:
...     return name + name
>>> doubles["aten::mul"]("ab"), listing()["aten::mul"]["doubled, in this example"]
('abab', ('_twice',))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Rule = TypeVar("Rule", bound=Callable[..., Any])
_tables: list[RuleTable[Any] | RuleLists[Any]] = []


class RuleTable(dict[str, Rule], Generic[Rule]):
    """One rule for each operator or kind of node, by its name; applied to names, a decorator that registers."""

    def __init__(self, purpose: str) -> None:
        super().__init__()
        self.purpose = purpose
        """What the rules say or do, for listings."""
        _tables.append(self)

    def __call__(self, *names: str) -> Callable[[Rule], Rule]:
        """Register what is decorated for these names. Raises ValueError for a name that has a rule already."""

        def register(rule: Rule) -> Rule:
            for name in names:
                if name in self:
                    raise ValueError(f"{name} has two rules: {self.purpose}")
                self[name] = rule
            return rule

        return register

    def rules_of(self, name: str) -> tuple[Rule, ...]:
        """All rules of a name."""
        return (self[name],)


class RuleLists(dict[str, tuple[Rule, ...]], Generic[Rule]):
    """Several rules for each operator or kind of node, in the order in which they are tried."""

    def __init__(self, purpose: str) -> None:
        super().__init__()
        self.purpose = purpose
        """What the rules say or do, for listings."""
        _tables.append(self)

    def __call__(self, *names: str) -> Callable[[Rule], Rule]:
        """Register what is decorated behind the rules that these names have."""

        def register(rule: Rule) -> Rule:
            for name in names:
                self[name] = (*self.get(name, ()), rule)
            return rule

        return register

    def rules_of(self, name: str) -> tuple[Rule, ...]:
        """All rules of a name."""
        return self[name]


def listing() -> dict[str, dict[str, tuple[str, ...]]]:
    """For each name the purposes that it has rules for, with the names of the functions."""
    tables: dict[str, dict[str, tuple[str, ...]]] = {}
    for table in _tables:
        for name in table:
            rules = table.rules_of(name)
            shown = tuple(getattr(rule, "__qualname__", type(rule).__name__) for rule in rules)
            tables.setdefault(name, {})[table.purpose] = shown
    return dict(sorted(tables.items()))
