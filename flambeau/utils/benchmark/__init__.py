"""Times of small pieces of code: `Timer` measures one, `Compare` shows several as a table.

>>> import flambeau
>>> timer = Timer("x + 1", globals={"x": flambeau.ones(3)}, label="add")
>>> measured = timer.timeit(100)
>>> measured.number_per_run, 0 < measured.median < 1
(100, True)
"""

from flambeau.utils.benchmark.compare import Compare
from flambeau.utils.benchmark.measurement import Measurement, TaskSpec, select_unit
from flambeau.utils.benchmark.timing import Language, Timer, timer

__all__ = ["Compare", "Language", "Measurement", "TaskSpec", "Timer", "select_unit", "timer"]
