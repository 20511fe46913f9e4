"""Modules under test: how a changed one takes the place of the installed one."""

from __future__ import annotations

import ast
import gc
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from mutation.operators import Mutant, mutants_of


@dataclass(frozen=True)
class Module:
    """A module of the installed package, as text and as a tree that mutants change."""

    name: str
    path: str
    tree: ast.Module
    mutants: list[Mutant]

    @staticmethod
    def read(file: str) -> Module:
        """`file` as the table names it, from the project's folder. Raises ValueError if not installed."""
        words = Path(file).with_suffix("").parts
        package = importlib.util.find_spec(words[0])
        if package is None or package.origin is None:
            raise ValueError(f"{file}: the package {words[0]} is not installed")
        path = Path(package.origin).parents[1] / file
        source = path.read_text("utf-8")
        tree = ast.parse(source)
        name = ".".join(words[:-1] if words[-1] == "__init__" else words)
        return Module(name, str(path), tree, mutants_of(file, tree, source))

    def put_in_place(self, mutant: Mutant, functions: Iterable[FunctionType]) -> None:
        """Gives the changed module to all who import it from now on, and to all who have its functions."""
        mutant.apply()
        code = compile(self.tree, self.path, "exec", dont_inherit=True)
        sys.meta_path.insert(0, _Finder(self.name, self.path, code))
        changed = {(one.co_name, one.co_firstlineno): one for one in _nested(code)}
        for function in functions:
            old = function.__code__
            new = changed.get((old.co_name, old.co_firstlineno), old)
            # Lambdas share their lines and have no names; where they exist already, the copy imports anew.
            if old.co_filename == self.path and old.co_name != "<lambda>" and new != old:
                function.__code__ = new


def live_functions(paths: Iterable[str]) -> list[FunctionType]:
    """All functions of these files that exist, whoever holds them."""
    wanted = set(paths)
    every = (one for one in gc.get_objects() if isinstance(one, FunctionType))
    return [one for one in every if one.__code__.co_filename in wanted]


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


class _Finder(MetaPathFinder):
    def __init__(self, name: str, path: str, code: CodeType) -> None:
        self._name, self._path, self._code = name, path, code

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        loader = _Loader(fullname, self._path, self._code)
        return importlib.util.spec_from_file_location(fullname, self._path, loader=loader)


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        return self._code
