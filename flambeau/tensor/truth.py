"""What is said of the truth of tensors that have none."""

from __future__ import annotations


def ambiguous_truth(size: int) -> str:
    """What is said of the truth of a tensor that has not one element.

    >>> ambiguous_truth(0)
    'Boolean value of Tensor with no values is ambiguous'
    """
    if not size:
        return "Boolean value of Tensor with no values is ambiguous"
    advice = "write x.any() or x.all(), and & and | in place of 'and' and 'or'"
    return f"Boolean value of Tensor with more than one value is ambiguous: {advice}"
