"""The catalogue of what callers search messages for: each fragment is what some test expects, or says why it cannot come.

A `<word>` or `…` stands for any text. Quotes and back quotes count as one.
"""

from __future__ import annotations

import re
from pathlib import Path

CATALOGUE = {
    "errors.messages": """
        Keyword argument requires_grad unknown
    """,
    "interop.custom_ops": """
        aten::relu() expected at most 1 argument(s) but received 2 argument(s)
        aten::relu() is missing value for argument 'self'.
        aten::type_as() is missing value for argument 'other'.
        Unknown keyword argument '<kw>' for operator
    """,
    "ir.bindings": """
        invalidated
    """,
    "ir.schema": """
        schemas with vararg (...) can't have default value args
    """,
    "lang.builtins": """
        but got a normal Tuple
        undefined value
        object has no attribute or method
        could not convert string to float
    """,
    "lang.class": """
        Wrong type for attribute assignment
        Tried to set nonexistent attribute
        Expected a value of type 'bool
        assignment cannot be in a control-flow block
        bool' for argument 'reverse
        must define a __lt__
        does not support inheritance
        does not have method
        is not compatible with interface
        is not compatible with interface __torch__
        the value is not a TorchScript compatible type
        expected a bool expression for condition
        missing attribute i
        Mutable default parameters are not supported
        Class does not define __delitem__
        Could not cast attribute 'val' to type Tensor
        failed to convert Python type
    """,
    "lang.enum": """
        Cannot create Enum with value type 'Tensor'
        Could not unify type list
        has no attribute '<member>'
    """,
    "lang.exception": """
        Expected 3D (unbatched) or 4D (batched) input to conv2d
        Arguments for call are not valid
        This op may not exist or may not be currently supported in TorchScript
        undefined value <name>
        cannot be used as a value
        must derive from BaseException
        (a, b)
        AssertionError: hi
        operation failed in the TorchScript interpreter
        Dict expansion
        <module>.<Class>: <message>
    """,
    "lang.fork_wait": """
        cannot call a value
        expects a tensor with <= 2 dimensions
        did not have observable data dependence with trace inputs; this probably indicates your program cannot be understood by the tracer.
        Future without a contained type
        was annotated as having type Future[float] but is actually of type Future[int]
        Got the following error
        Future can only be marked completed once
        Future can't be None
    """,
    "lang.hash": """
        unhashable
    """,
    "lang.list": """
        list index out of range
        Boolean value of Tensor
        Boolean value of Tensor with more than one value
        previously had type List[Tensor]
        previously had type
        Variable 'y' is annotated with type List[Optional[int]] but is being assigned to a value of type List[int]
        Variable 'y' is annotated with type List[List[Optional[int]]] but is being assigned to a value of type List[List[int]]
        out of range
        deletion at a single index
        index 4 is out of bounds for dimension 0 with size 3
        pop from empty list
        x not in list
        '5' is not in list
        is not in list
        Expected type hint for result of tolist()
        Return value was annotated as having type List[float] but is actually of type float
        str is not one of the supported element types for tolist
        Output annotation list dimension and runtime tensor dimension must match
        Output annotation element type and runtime tensor element type must match
        Attempted to use List without a contained type
        Can not create ListType with None type
        Expected an annotation of type List
        KeyError
        Variable 'y' is annotated with type Dict[str, Optional[int]] but is being assigned to a value of type Dict[str, int]
        Variable 'z' is annotated with type Dict[str, Dict[str, Optional[int]]] but is being assigned to a value of type Dict[str, Dict[str, int]]
        but instead found type
        is actually of type Optional
        Arguments for call are not
        Attempted to use Dict without contained types
        Expected a value of type 'int' for argument 'a' but instead found type 'str'
        empty
    """,
    "lang.misc": """
        variable number of arguments
        missing value for argument 'n_tokens'
        positional arg
        subscripted assignment
        augmented assignment
        multiple positional arguments that were not all integers
        has no attribute
        Cannot call a ScriptModule that is not a submodule of the caller
        'int' object is not iterable
        List of iterables is not supported currently
        does not support augmented assign
        A Starred expression may only appear on the lhs within the presence of another non-starred expression
        index out of range
        Inferred the value for argument 'dim' to be of type 'Tensor' because it was not annotated with an explicit type
        ScriptFunction cannot be pickled
        failed to match any schema
        positional argument
        Expected a default value
        Mutable default parameters
        forward() is missing value for argument 'x'.
        forward() is missing value for argument 'y'.
        does not have a self argument
        Expected one of
        annotation prefix in line
        Type annotation should not contain calls
        not provided
        Cannot emit inplace op
        previously matched to type
        are not sortable
        Only values of same type can be compared
        expected a valid token
        out of bounds
        should have non-zero step
        expected int
        invalid literal for int()
        Could not cast value of type Tuple[Tensor, Tensor]
        Could not cast value of type Tuple[int, int] to bool
        Unwrapping null optional
        ZeroDivisionError: integer division or modulo by zero
        ZeroDivisionError: float divmod()
        index 1 out of range for tensor of size
        does not return along all paths
        failed in the TorchScript interpreter
        must be of ints, floats, or bools, got None
        Empty lists default to List[Tensor]
        Expected sequence of length
        do not support break or continue inside
        value of type _TensorMeta
        Module '<M>' has no attribute
        has no attribute 'my_optional'
        Linear' object in attribute '…' is not a valid constant
        not a valid constant
        numpy.int64
        getstate
        (Tensor, Tensor, Tensor)
        cannot be used as a tuple
        too many values to unpack
        but instead got value of type tuple
        c0 is set to type int in the true branch and type float in the false branch
        Variable 'c0' previously had type float
        c0 is not defined in the false branch
        c0 is not defined in the true branch
        int[] in the true branch and type None[]
        must be a positive integer:
        Unknown type constructor
        need … values … found only
        too many values … need
        Expected at most 2 arguments but found 3
        Argument y not provided
        Argument y not provided.
        Inferred 'x' to be of type 'Tensor
        called recursively
        Argument self not provided
        specified twice
        for argument 'tensors' but instead found type 'Tensor
        argument 'tensors' but instead found type 'List[int]
        Expected a value of type 'List[int]' for argument 'size' but instead found type 'List[Union[List[int], int]]
        Unknown type name 'Foo'
        Subscripted type must be a type identifier
        Unknown type constructor Tensor
        Expression of type + cannot be used in a type expression
        Dropout removal module in training mode is not yet supported
        Cannot re-assign 'self'
        Cannot re-assign 'x' to a value of type module
        methods must have a self argument
        must not be zero
        range expected at least 1 arguments, got 0
        found float
        Tuple literal in Tuple type annotation must not have any elements
        that does not have a statically determinable length
        enumerate expected at least 1 arguments, got 0
        enumerate expected at most 2 arguments, got 3
        zip expected at least 1 arguments, got 0
        too many values to unpack: need 2 but found 3
        of a 0-d tensor
        'float' object is not iterable
        augmented assignment can only have one LHS expression
        unexpected expression
        Only one starred expression is allowed on the lhs
        Cannot pack a tuple into a non-variable
        print doesn't accept any keyword arguments
        builtin cannot be used as a value
        attribute lookup is not defined on builtin
        object has no attribute abcd
        python value of type 'type' cannot be used as a value
        A Starred expression may only appear
        Expected at most 1 arguments but found 3
        must be registered as submodules
        because we cannot resolve the output type
        index must be an integer
        could not be inferred from actual type None
        'int' object is not subscriptable
        Python builtin <built-in function … is currently
        but is actually of type
        Return type line
        Number of type annotations
        Provided tuple is not fully defined/refined
        Expected a value
        returned a value of type int but
        does not return along all
        <message>
        Expected a value of type
        Expected a value of type 'Tensor (inferred)' for argument 'value' but instead found type 'int'.
        Tensors are not supported as default NamedTuple fields
        cannot be directly compiled
        must equal to the default parameter
        Parameters not specified
        Only 'pass' statement or '...' can be the body
        " is missing.
        Implementation for the method "…" is missing.
        explicitly add type annotations to overloaded functions
        but instead found type 'str'
        Overloads are not useable when a module
        annotated to be ignored and cannot be run
        cannot be compiled since it inherits from nn.Module
        else branches of for loops aren't supported
        keyword-arg expansion is not supported
        variable number
        Expected a value of type 'Tensor (inferred)'…Inferred 'a' to be of type 'Tensor'
        INTERNAL ASSERT FAILED
        Cannot re-assign
        object is not iterable
        Expected a value of type 'Tensor' for argument 'x' but instead found type 'Tuple[Tensor,
    """,
    "lang.slicing": """
        Slice does not accept any keyword arguments
    """,
    "lang.string": """
        Incomplete format specifier
        %d requires a number for formatting, but got String
        %e requires a number for formatting, but got String
        %c requires an int or char for formatting, but got String
        Too few arguments for format string
        Too many arguments for format string
        The specifier %a is not supported in TorchScript format strings
        empty separator
    """,
    "lang.type_annotations": """
        List type annotation 'List[int]' did not match the types of the given list elements
        Attempted to use Optional without a contained type
        Attempted to use Tuple without a contained type
        attribute was ignored during compilation
        annotated with type
        declare and annotate
        Tried to get the type from an InferredType but the type is null.
        1 argument
        Dicts may only contain homogeneous keys, but the type of the first generated key was Union[int, str]
        Dict type annotation 'Dict[str, int]' did not match the type of an actual value type 'Union[int, str]'
        Unknown type annotation
        cannot statically infer the expected
        undefined value i
        redefine
        aka NamedTuple(logits, aux_logits2, aux_logits1)
        at +File
        Expected Dict type annotation for dict comprehension, found Tuple[int, str]
    """,
    "lang.union": """
        there are multiple possible List type candidates in the Union annotation
        none of those types match the types of the given list elements
        Expected an Union type annotation with an inner List type
        List type annotation 'List[Tensor]' did not match the types of the given list elements
        Expected an Union type annotation with an inner Dict type
        none of those dict types can hold the types of the given keys and values
        full type inference is not yet supported
        Type annotation was inferred to be 'Dict[str, Tensor]', but the type of values given by the dict literal is
        Expected a member of Union[float, int] but instead found type str
        Expected a member of Union[List[int], Dict[str, int]] but instead found type Dict[str, str]
        Expected a member of Union[List[int], Dict[str, int]] but instead found type List[str]
        Expected a member of Union[List[int], Dict[str, int]] but instead found type str
        Color, str] but instead found type int
        Expected a member of Union[int, str] but instead found type List[str]
        Could not match type str
        Could not match type float
        only int, float, complex, Tensor, device and string keys are supported
        y is set to type str in the true branch and type int in the false branch
        previously had type str but is now being assigned to a value of type int
    """,
    "lang.with": """
        does not define __enter__ and __exit__ methods
        __enter__ must have only one argument and one return value
        __exit__ must have four arguments
        argument 2 of __exit__ must have Any type
        must return an object
    """,
    "module.attribute_annotations": """
        doesn't support instance-level annotations on empty non-base types
    """,
    "module.containers": """
        Index -11 out of range
        Enumeration is supported
        will fail because i is not a literal
        Key Error, <key>
        Unable to extract string literal index. ModuleDict indexing is only supported with string literals. For example, 'i = "a"; self.layers[i](x)' will
        Attribute module is not of annotated type
        Attribute 0 is not of annotated type
    """,
    "module.freezing": """
        does not have a field with name '_forward'
        module contains attributes values that overlaps
        attempted to freeze a module that return itself
        does not have a field with name 'state_dict'
        Freezing modules containing prim::ModuleContainerIndex is not supported
        Freezing does not support SetAttr on an interface type
        To fuse, linear.out_features == bn.num_features or bn.num_features == 1
    """,
    "module.hooks": """
        because a method or hook with that name already exists.
        Pre-hook '…' on … has at least two different python definitions. Please use unique names for all hooks.
        Hook '…' on … has at least two different python definitions. Please use unique names for all hooks.
        This error occurred while scripting the forward pre-hook
        has the wrong inner types for the input tuple argument
        was expected to only have exactly 2 inputs but it had 3 inputs
        expected the input argument to be typed as a Tuple but found type: 'int' instead
        returned the wrong type of: 'int'
        is missing a return annotation. Return annotations are required, please add one.
        When forward has a single tuple input argument, the return needs to be 'None' or a nested tuple containing forward's input tuple argument as in: 'Tupl
        has the wrong number of contained types for the input argument's Tuple. Received type: 'Tuple[str, str]'
        expected the input argument to be typed as a Tuple but found type: '…' instead
        has the wrong inner types for the input tuple argument. Received type: 'Tuple[NoneType]'
        has the wrong type for the output argument. Received type: 'Tuple[str]'. Expected type: 'str'
        has the wrong type for the output argument. Received type: '…'. Expected type: '…'
    """,
    "module.interface": """
        ScriptModule class can be subtype of module interface
        does not support inheritance yet. Please directly
        a ScriptModule with non-scripted module
        for field 'proxy_mod', but found '
        Freezing does not support SetAttr on an interface type.
    """,
    "module.parametrization": """
        Cannot trace a model while caching
        Caching is not implemented
    """,
    "module.recursive_scripting": """
        failed to compile
        has not been initialized
        Cannot instantiate class
    """,
    "ops.tensor": """
        expected exactly 1 argument
    """,
    "trace.core": """
        inplace <Fn>
        List trace
        consistent
        Encountering a dict at the output
        cause the trace to be incorrect
        can be output from traced functions
        Tensor-valued Constant nodes differed in value across invocations
        Graphs differed across invocations!
        Output nr 1. of the traced function does not match the corresponding output of the Python function
        Trace had nondeterministic nodes
        backward hooks assigned
        trace doesn't support compiling individual module's functions
        Cannot insert a Tensor that requires grad as a constant
        Type 'Tuple[int]' cannot be traced
        cannot be understood by the tracer, only outputs matching
    """,
}
"""Fragments by what they are about."""

UNREACHABLE: dict[str, str] = {
    "Dict expansion": "{'a': 1, **d} is a dict",
    "List of iterables is not supported currently": "zip and its like are refused as items of lists",
    "value of type _TensorMeta": "the class Tensor has no metaclass: 'class Tensor cannot be used as a value'",
    "getstate": "of classes that Python pickles by themselves",
    "int[] in the true branch and type None[]": "[None] is an int?[] there",
    "must be a positive integer:": "an attribute's own check, in the program's words",
    "Dropout removal module in training mode is not yet supported": "no pass removes dropout from a module",
    "Overloads are not useable when a module": "a class that is defined again brings its own overloads",
    "else branches of for loops aren't supported": "they are",
    "INTERNAL ASSERT FAILED": "said by no program",
    "at +File": "annotations that cannot be read say where in other words: 'expected a type comment like'",
    "Attribute module is not of annotated type": "variables that hold modules are not annotated",
    "Attribute 0 is not of annotated type": "variables that hold modules are not annotated",
    "module contains attributes values that overlaps": "views of one storage freeze as what they are",
    "Output nr 1. of the traced function does not match the corresponding output of the Python function": "random operators are not compared, which is said instead",
}
"""Fragments of refusals that there are no more, and why."""


def words(text: str) -> str:
    """A test's source with its messages in one piece: no back slashes, no seams between literals, one kind of quotes."""
    seamless = re.sub(r'["\'][ \t]*\n[ \t]*[rf]{0,2}["\']', "", text)
    return seamless.replace("\\", "").replace("`", "'").replace('"', "'")


def has(source: str, fragment: str) -> bool:
    """Whether a source has a fragment."""
    parts = [p.strip() for p in re.split(r"<[A-Za-z_]+>|…", words(fragment)) if p.strip()]
    if len(parts) == 1:
        return parts[0] in source
    return re.search(".{0,120}?".join(map(re.escape, parts)), source) is not None


def test_every_fragment_has_a_test() -> None:
    here = Path(__file__)
    source = "\n".join(words(p.read_text("utf-8")) for p in here.parents[1].rglob("*.py") if p != here)
    missing = []
    for fragments in CATALOGUE.values():
        for fragment in map(str.strip, fragments.strip().splitlines()):
            if fragment not in UNREACHABLE and not has(source, fragment):
                missing.append(fragment)
    assert missing == []
