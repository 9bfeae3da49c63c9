"""Texts of programs in native code: code points of 32 bits, parts that show those of their text, formats.

Where to look: `texts` lowers the operators, and `text_functions` is what they call; parts and joins: `text_parts`;
numbers in them: `text_numbers`, `text_formats`, `number_formats`; `text_literals`; how Python reads and writes them:
`text_words`.
"""
