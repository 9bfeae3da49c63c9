"""Pancake flipping: fannkuch-redux of the Computer Language Benchmarks Game. Lists of ints, loops, early exits.

Published answers for n = 7: checksum 228, maximum number of flips 16.
"""

from __future__ import annotations

import flambeau


@flambeau.script
def fannkuch(n: int) -> tuple[int, int]:
    """Over all permutations of n: the alternating sum of the number of flips, and the largest."""
    first = list(range(n))
    count = [0] * n
    flips_max = 0
    checksum = 0
    sign = 1
    r = n
    while True:
        while r != 1:
            count[r - 1] = r
            r -= 1
        if first[0] != 0:
            work = first.copy()
            flips = 0
            k = work[0]
            while k != 0:
                i = 0
                j = k
                while i < j:
                    work[i], work[j] = work[j], work[i]
                    i += 1
                    j -= 1
                flips += 1
                k = work[0]
            flips_max = max(flips_max, flips)
            checksum += sign * flips
        sign = -sign
        while True:
            if r == n:
                return checksum, flips_max
            head = first[0]
            for i in range(r):
                first[i] = first[i + 1]
            first[r] = head
            count[r] -= 1
            if count[r] > 0:
                break
            r += 1


if __name__ == "__main__":
    print(*fannkuch(7))
