"""Functions that programs call."""

from __future__ import annotations

from tests.random_programs.model import Compound, Program, Statement

CALLEES = (
    Program("between", "value: int, low: int, high: int", "int", [
        Compound("if value < low:", [[Statement("return low")]]),
        Compound("if value > high:", [[Statement("return high")]]),
        Statement("return value"),
    ]),
    Program("digits", "value: int, base: int = 10", "int", [
        Statement("count = 0"),
        Statement("left = abs(value)"),
        Compound("while left > 0:", [[
            Statement("left = left // base"),
            Statement("count += 1"),
            Compound("if count > 8:", [[Statement("break")]]),
        ]]),
        Statement("return count"),
    ]),
    Program("weigh", "value: float, by: int", "float", [
        Compound("if by % 3 == 0:", [[Statement("return value")]]),
        Statement("return value * 0.25 + float(between(by, -9, 9))"),
    ]),
    Program("halves", "value: int", "tuple[int, float]", [Statement("return value // 2, value / 2")]),
    Program("push", "values: list[int], value: int", "int", [
        Compound("if len(values) > 12:", [[Statement("values.clear()")]]),
        Statement("values.append(value)"),
        Statement("return len(values)"),
    ]),
    Program("rotate", "values: list[int], i: int", "None", [
        Statement("first = values[0]"),
        Statement("values[0] = values[i]"),
        Statement("values[i] = first"),
    ]),
    Program("find", "t: Tensor, wanted: float", "int", [
        Statement("seen = 0"),
        Compound("for row in t:", [[
            Compound("for i in range(row.numel()):", [[
                Compound("if float(row.reshape(-1)[i]) == wanted:", [[Statement("return seen")]]),
                Statement("seen += 1"),
            ]]),
        ]]),
        Statement("return -seen"),
    ]),
    Program("smear", "t: Tensor, by: int", "Tensor", [
        Compound("for i in range(1, t.shape[0]):", [[Statement("t[i] += t[i - 1]")]]),
        Statement("return t * by"),
    ]),
    Program("require", "value: int, limit: int", "int", [
        Compound("if value > limit:", [[Statement("raise ValueError(f'{value} is more than {limit}')")]]),
        Statement("return value + 1"),
    ]),
)  # fmt: skip
