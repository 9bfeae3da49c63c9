"""Exceptions, source positions and small data structures that know nothing about programs.

Where to look (`*` stands for several files):

- errors and places in programs: `errors`, `instead`, `not_here`, `source`, `late_range`, `user_code`, `foreign`,
  `float_errors`
- what lower floors call and higher ones provide: `inversions`
- threads, processes, signals: `locks`, `late_signals`, `thread_count`, `end_of_process`; the garbage collector:
  `no_collection`
- data structures: `trees`, `record`, `cached`, `kept_on`, `hooks`, `made_objects`, `counters`, `depth`; what functions
  say of themselves: `scripting`, `choice`, `broadcasting`
- memory and CPython: `array_address`, `memory_views`, `native_type`, `missed`; NumPy's libraries: `blas`, `lapack`
- text and terminals: `python_text`, `markup`, `log`, `progress*`; names and versions: `names`, `import_paths`,
  `*version`, `source_stamps`, `installed_torch`
"""
