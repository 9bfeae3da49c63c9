"""Objects of users' classes in native code: a count of references, and the words of their attributes.

Where to look:

- `objects`, `class_fields`, `filled_objects`, `object_pool`
- as arguments and results: `object_arguments`, `object_entry`, `object_lists`, `object_words`, `changed_objects`
"""
