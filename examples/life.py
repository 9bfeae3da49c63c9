"""Conway's Game of Life on a torus, by slices and in-place writes, until nothing changes or time is up.

Published answers: the R-pentomino lives for 1,103 generations and leaves 116 cells (on a board that does not wrap); a
glider moves by (1, 1) every four generations.
"""

from __future__ import annotations

import flambeau
from flambeau import Tensor


@flambeau.script
def neighbours(board: Tensor) -> Tensor:
    """How many of the eight cells around each cell live; the board wraps around."""
    total = flambeau.zeros_like(board)
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            if dy != 0 or dx != 0:
                total += flambeau.roll(board, [dy, dx], [0, 1])
    return total


@flambeau.script
def generation(board: Tensor) -> Tensor:
    """The next board; int64 of 0 and 1."""
    count = neighbours(board)
    return ((count == 3) | ((board == 1) & (count == 2))).to(board.dtype)


@flambeau.script
def run(board: Tensor, limit: int) -> tuple[Tensor, int]:
    """The board after `limit` generations, or when it stands still, and the number of generations."""
    steps = 0
    while steps < limit:
        following = generation(board)
        if flambeau.equal(following, board):
            break
        board = following
        steps += 1
    return board, steps


@flambeau.script
def place(height: int, width: int, cells: list[tuple[int, int]], top: int, left: int) -> Tensor:
    """An empty board with these cells alive, moved by (top, left)."""
    board = flambeau.zeros([height, width], dtype=flambeau.int64)
    for y, x in cells:
        board[top + y, left + x] = 1
    return board


GLIDER = [(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)]
R_PENTOMINO = [(0, 1), (0, 2), (1, 0), (1, 1), (2, 1)]

if __name__ == "__main__":
    final, steps = run(place(16, 32, GLIDER, 1, 1), 40)
    print(f"after {steps} generations:")
    print("\n".join("".join(".#"[c] for c in row) for row in final.tolist()))
