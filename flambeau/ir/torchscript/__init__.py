"""The methods that TorchScript's users call on graphs: `node.kind()`, `graph.findNode("aten::add")`, `value.type()`.

The classes of `flambeau.ir` inherit them, a file for each class. They are written in terms of the classes' own
properties, whose names differ: `node.op`, `node.operands`, `value.static_type`.
"""
