"""Lists, dicts and sets of programs in native code, and what Python finds of them.

Where to look:

- `lists`, `list_*`, `merge_sort`; those that only grow and shrink at their end: `stacks`; of numbers, as words:
  `number_lists`; of an array's numbers: `listed_elements`
- `dicts`, `sets`; the hash table: `dict_tables`; as words: `dict_words`
"""
