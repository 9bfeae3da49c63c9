"""Long functions: what compiling and first calls do grows as the number of lines does. Work is counted, not timed."""

from __future__ import annotations

import pytest

import flambeau
from tests.jit.modules.test_module_sizes import work

HEAD = """def f(x: Tensor, y: Tensor, n: int):
    l: List[int] = [1]
"""
LINES = {
    "numbers": "    n = n * 3 + {k}\n    if n > 100:\n        n = n % 97\n",
    "bounds": "    if n > {k}:\n        n = {k}\n",
    "sums": "    n = n + n\n",
    "lists": "    l.append(n + {k})\n    n = l[-1] % 7\n",
    "literals": "    n = [n, n][n % 2]\n",
    "writes": "    x[0] = y[1] * {k}\n    x.add_(y)\n",
    "elements": "    x[1] = float(x[2]) * 0.5 + float(y[{k} % 7])\n",
    "views": "    y = x.view(-1)[1:]\n    y.mul_(1.5)\n",
    "shapes": "    x = x.view(x.size(0), -1).t().reshape(x.size(0)) if x.dim() == 1 else x\n",
    "swaps": "    x, y = y + {k}, x\n",
    "loops": "    for i in range(n % 3 + 1):\n        n = n + i % 2\n",
    "breaks": "    for i in range(n):\n        if i > {k}:\n            break\n        n = n - 1\n",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_work_is_linear(line: str) -> None:
    def run(count: int) -> None:
        body = "".join(line.replace("{k}", str(k)) for k in range(count))
        function = flambeau.CompilationUnit(f"{HEAD}{body}    return x, n, l\n").f
        for _ in range(2):
            function(flambeau.ones(10), flambeau.ones(10), 3)

    run(3)
    counts = [work(lambda size=size: run(size)) for size in (15, 60)]
    assert counts[1] < 4.6 * counts[0], counts
