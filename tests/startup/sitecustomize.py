"""For processes that tests start: they end without looking for cycles among a quarter of a million objects.

Python does that several times where a process ends, which takes as long as importing the package. Processes whose ends
are what a test is about have the environment `tests.processes.as_users_have()`, without this folder.
"""

import atexit
import gc

atexit.register(gc.freeze)
