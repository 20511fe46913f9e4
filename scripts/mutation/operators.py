"""What is changed: each mutant replaces one node of a module's syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mod,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
_FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}
_NO_CODE = ("annotation", "returns", "decorator_list", "format_spec")
"""Fields that say nothing of behaviour; of decorators, frozen=True and its like are all that could change."""
_SHOWN = (ast.expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return)
_MAX_LETTERS = 60


@dataclass(frozen=True)
class _Spot:
    """A node's place in its parent."""

    holder: ast.AST
    field: str
    index: int | None = None

    def get(self) -> ast.AST:
        value = getattr(self.holder, self.field)
        found: ast.AST = value if self.index is None else value[self.index]
        return found

    def put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.holder, self.field, node)
        else:
            getattr(self.holder, self.field)[self.index] = node


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    file: str
    line: int
    text: str
    """The source line's text, without the blanks around it."""
    what: str
    """before -> after"""
    lines: range
    """Of the statement, or of its head where it has a body: a test that runs none of them cannot see it."""
    spot: _Spot
    new: ast.AST

    def apply(self) -> None:
        """Changes the tree for good."""
        self.spot.put(self.new)


def mutants_of(file: str, tree: ast.Module, source: str) -> list[Mutant]:
    """In the order of the file's lines."""
    found = _Finder(file, source.splitlines()).visit(tree, range(1, 2))
    return sorted(found, key=lambda mutant: mutant.line)


class _Finder:
    """Goes through a tree and knows what stands around each node."""

    def __init__(self, file: str, source: list[str]) -> None:
        self._file, self._source = file, source
        self._parents: list[ast.AST] = []

    def visit(self, node: ast.AST, lines: range) -> Iterator[Mutant]:
        self._parents.append(node)
        for field, value in ast.iter_fields(node):
            if field in _NO_CODE or (field == "body" and _for_types(node)):
                continue
            for index, child in enumerate(value if isinstance(value, list) else [value]):
                if not isinstance(child, ast.AST) or _unseen(child):
                    continue
                within = _lines(child) or lines
                spot = _Spot(node, field, index if isinstance(value, list) else None)
                for around, changed, new, word in _changes(child, spot):
                    yield self._mutant(around, changed, new, word, within)
                yield from self.visit(child, within)
        self._parents.pop()

    def _mutant(self, around: ast.AST, spot: _Spot, new: ast.AST, word: str, lines: range) -> Mutant:
        old = spot.get()
        line: int = getattr(old if hasattr(old, "lineno") else around, "lineno", lines[0])
        ast.copy_location(new, old)
        if isinstance(around, ast.expr) and not word:
            around = self._wider(around)
        before = ast.unparse(around)
        if old is around:
            after = ast.unparse(new)
        else:
            spot.put(new)
            after = ast.unparse(around)
            spot.put(old)
        if isinstance(new, (ast.Constant, ast.Pass)):
            before = _shortened(before)
        what = f"{word}{before} -> {word}{after}"
        return Mutant(self._file, line, self._source[line - 1].strip(), what, lines, spot, new)

    def _wider(self, node: ast.AST) -> ast.AST:
        """The expression or statement with as much around it as a line can show."""
        for parent in reversed(self._parents):
            if isinstance(parent, ast.FormattedValue):
                break
            if isinstance(parent, _SHOWN) and len(ast.unparse(parent)) <= _MAX_LETTERS:
                node = parent
            elif not isinstance(parent, ast.keyword):
                break
        return node


Change = tuple[ast.AST, _Spot, ast.AST, str]
"""What to show, where the tree changes, what comes there, and the word before it in what is shown."""


def _changes(node: ast.AST, spot: _Spot) -> Iterator[Change]:
    if isinstance(node, ast.Compare):
        for index, op in enumerate(node.ops):
            yield node, _Spot(node, "ops", index), _COMPARISONS[type(op)](), ""
    elif isinstance(node, (ast.BinOp, ast.AugAssign)):
        if type(node.op) in _ARITHMETIC and not _fills_in(node):
            yield node, _Spot(node, "op"), _ARITHMETIC[type(node.op)](), ""
    elif isinstance(node, ast.BoolOp):
        yield node, _Spot(node, "op"), ast.Or() if isinstance(node.op, ast.And) else ast.And(), ""
    elif isinstance(node, ast.UnaryOp):
        yield node, spot, node.operand, ""
    elif isinstance(node, ast.Constant):
        if (moved := _moved(node.value)) is not None:
            yield node, spot, ast.Constant(moved), ""
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
        yield node, _Spot(node, "func"), ast.Name(_FUNCTIONS[node.func.id], ast.Load()), ""
    elif isinstance(node, (ast.Return, ast.Yield)):
        if node.value is not None and not isinstance(node.value, ast.Constant):
            word = "return " if isinstance(node, ast.Return) else "yield "
            yield node.value, _Spot(node, "value"), ast.Constant(None), word
    elif isinstance(node, (ast.Break, ast.Continue)):
        yield node, spot, ast.Continue() if isinstance(node, ast.Break) else ast.Break(), ""
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield node, spot, ast.Pass(), ""
    if isinstance(node, (ast.If, ast.IfExp)):
        for value in (True, False):
            yield node.test, _Spot(node, "test"), ast.Constant(value), "if "
    elif isinstance(node, ast.While) and not isinstance(node.test, ast.Constant):
        # Never, but not always: that would not end.
        yield node.test, _Spot(node, "test"), ast.Constant(False), "while "
    elif isinstance(node, ast.comprehension):
        for index, test in enumerate(node.ifs):
            yield test, _Spot(node, "ifs", index), ast.Constant(True), "if "


def _moved(value: object) -> int | float | None:
    """Another constant of the same type; None: as it is, words among them."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 2 if value else 1.0
    return None


def _fills_in(node: ast.BinOp | ast.AugAssign) -> bool:
    """Is it a text's % instead of a number's?"""
    text = isinstance(node, ast.BinOp) and isinstance(node.left, ast.Constant | ast.JoinedStr)
    return text and isinstance(node.op, ast.Mod)


def _for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def _unseen(node: ast.AST) -> bool:
    """What no caller is meant to notice."""
    if isinstance(node, ast.keyword):
        # zip's, which raises where a line before has made sure already.
        return node.arg == "strict"
    if isinstance(node, ast.Assign):
        return any(isinstance(one, ast.Name) and one.id == "__all__" for one in node.targets)
    if isinstance(node, ast.If) and _for_types(node):
        return not node.orelse
    return isinstance(node, (ast.AugAssign, ast.AnnAssign)) and ast.unparse(node.target) == "__all__"


def _lines(node: ast.AST) -> range | None:
    """The lines of a statement, or of its head; None for what belongs to the statement around it."""
    body = getattr(node, "body", None)
    if isinstance(node, (ast.stmt, ast.ExceptHandler)):
        first = node.lineno
    elif isinstance(node, ast.match_case):
        first = node.pattern.lineno
    else:
        return None
    if isinstance(body, list):
        return range(first, max(first + 1, body[0].lineno))
    return range(first, (getattr(node, "end_lineno", None) or first) + 1)


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_LETTERS else f"{text[: _MAX_LETTERS - 4]} ..."
