"""Deliberately broken variants: a check that lets one pass checks nothing.

``broken(function, right, wrong)`` is ``function`` with one operation replaced in its syntax tree. ``right``
and ``wrong`` are Python source, each of one expression or of statements. Spacing, quotes and comments do not
count.

Names of variables do not count either: a name that is no global of the function's module, no builtin and not
``self`` stands for any one variable, and for the same variable wherever the name is repeated. Only where
several parts of the function would do, the names of its parameters are taken by the letter. ``...`` stands
for any expression; the n-th in ``wrong`` is the n-th of ``right``. So mutants survive that a function is
reformatted and that its variables are renamed.
"""

import ast
import builtins
import inspect
import textwrap


def broken(function, right: str, wrong: str):
    """``function`` with the one part that reads like ``right`` replaced by ``wrong``, or a LookupError."""
    source = textwrap.dedent(inspect.getsource(function))
    namespace = dict(function.__globals__)
    known = {*namespace, *dir(builtins), "self"} - {"_"}  # which is a builtin once a doctest has printed
    exec(_mutant(source, right, wrong, known), namespace)
    return namespace[function.__name__]


def _mutant(source, right, wrong, known) -> str:
    tree = ast.parse(source)
    function, pattern, mutant = tree.body[0], *_parts(right, wrong)
    parameters = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    for fixed in (known, known | parameters):
        matches = [
            (match, replace)
            for part, replace in _runs(tree, len(pattern))
            if (match := _Match(fixed)).alike(pattern, part)
        ]
        if len(matches) == 1:
            match, replace = matches[0]
            replace(match.filled(mutant, parameters))
            return ast.unparse(tree)
    raise LookupError(  # no AssertionError, which a test of a mutant waits for
        f"{len(matches)} parts of {function.name} read like {right!r}, where one is needed: write the mutant "
        f"anew, with more of its surroundings if there are many, from\n{ast.unparse(tree)}"
    )


def _parts(right, wrong):
    """Both as lists of statements, or each as a list of one expression."""
    try:
        parts = ast.parse(right.strip()).body, ast.parse(wrong.strip()).body
    except SyntaxError as error:
        raise LookupError(
            f"whole expressions or statements are needed, not {right!r} and {wrong!r}"
        ) from error
    if all(len(part) == 1 and isinstance(part[0], ast.Expr) for part in parts):
        return tuple([part[0].value] for part in parts)
    return parts


def _runs(tree, length):
    """Every run of ``length`` neighbours in the tree, with a function that replaces the run."""
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, list):
                for i in range(len(value) - length + 1):
                    at = slice(i, i + length)
                    yield value[at], lambda new, value=value, at=at: value.__setitem__(at, new)
            elif length == 1:
                yield [value], lambda new, parent=parent, field=field: setattr(parent, field, new[0])


class _Match:
    """The variables and expressions of a function that a pattern's names and ``...`` stand for."""

    def __init__(self, known):
        self.known, self.names, self.expressions = known, {}, []

    def alike(self, pattern, part) -> bool:
        """Whether pattern and part are the same but for names of variables, which are noted."""
        if _is_any(pattern) and isinstance(part, ast.expr):
            self.expressions.append(part)
            return True
        if type(pattern) is not type(part):
            return False
        if isinstance(pattern, list):
            return len(pattern) == len(part) and all(map(self.alike, pattern, part))
        if not isinstance(pattern, ast.AST):
            return pattern == part
        named = NAME_FIELDS.get(type(pattern))
        return all(
            (self._same_variable if field == named else self.alike)(
                getattr(pattern, field), getattr(part, field)
            )
            for field in pattern._fields
        )

    def _same_variable(self, name, of_part) -> bool:
        if name in self.known or of_part in self.known:
            return name == of_part
        if name not in self.names and of_part in self.names.values():
            return False
        return self.names.setdefault(name, of_part) == of_part

    def filled(self, mutant, parameters):
        """The mutant in the function's own variables, or a LookupError for a variable out of nowhere."""
        named = [node for part in mutant for node in ast.walk(part) if type(node) in NAME_FIELDS]
        assigned = {_name(node) for node in named if not isinstance(getattr(node, "ctx", None), ast.Load)}
        for node in named:
            name = _name(node)
            if name not in self.names.keys() | self.known | parameters | assigned:
                raise LookupError(
                    f"{name!r} is in the mutant only: begin with a part that has this variable too"
                )
            setattr(node, NAME_FIELDS[type(node)], self.names.get(name, name))
        fill = _Fill(self.expressions)
        return [fill.visit(part) for part in mutant]


class _Fill(ast.NodeTransformer):
    """Puts expressions in the places of ``...``."""

    def __init__(self, expressions):
        self.expressions = iter(expressions)

    def visit_Constant(self, node):
        return next(self.expressions) if _is_any(node) else node


NAME_FIELDS = {ast.Name: "id", ast.arg: "arg"}


def _name(node):
    return getattr(node, NAME_FIELDS[type(node)])


def _is_any(node) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...
