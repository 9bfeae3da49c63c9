"""Futures that Python completes and waits for, under the names of `torch.futures`.

>>> first, second = Future(), Future()
>>> both = collect_all([first, second])
>>> first.set_result(1), second.set_result(2), wait_all([first, second])
(None, None, [1, 2])
>>> both.done()
True
"""

from flambeau.interpreter.future import Future, collect_all, wait_all

__all__ = ["Future", "collect_all", "wait_all"]
