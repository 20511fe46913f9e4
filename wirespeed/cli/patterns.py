"""A command for each pattern: its name, its help and its own options come from the pattern's file."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import field, make_dataclass, replace
from functools import partial
from itertools import product
from typing import Annotated, Any

import typer

from wirespeed.cli.common import values
from wirespeed.cli.common.command import add_command
from wirespeed.cli.common.options import Debugging, Measuring, Reporting, flag, option
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.job.plan import DEFAULT_SIZES, Plan
from wirespeed.patterns import Option, Pattern, Shape, all_patterns, find_pattern

ORDER = 20
FIRST = ("pingpong", "exchange", "stream")
"""Above the others in the list of commands."""
RANKS = option(
    "--ranks",
    "N",
    "Ranks to start, or several counts as in 2,4,8. Default: one a GPU; without GPUs one a core, at most 8.",
)
WITH = option(
    "--with",
    "PATTERN:PATH[:SIZE]",
    "Measure twice: alone, and while another pattern runs on the same processors (as stream:host:16M).",
)


def register(app: typer.Typer) -> None:
    """Adds them all."""
    names = list(all_patterns())
    for name in sorted(names, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name)):
        pattern = all_patterns()[name]
        add_command(app, name, options_of(pattern), command_of(pattern))


def options_of(pattern: Pattern) -> type[Any]:
    """A dataclass with every measuring command's options and the pattern's own."""
    own: list[tuple[str, Any, Any]] = []
    if pattern.ranks is None:
        own.append(("ranks", Annotated[str | None, RANKS], field(default=None)))
    if pattern.sizes is not None:
        text = "Bytes of a message: a list, or powers of two as in 8:1G."
        own.append(("sizes", Annotated[str, option("--sizes", "SIZES", text)], field(default=pattern.sizes)))
    own += [_field(one) for one in pattern.options]
    own.append(("with_", Annotated[str | None, WITH], field(default=None)))
    return make_dataclass(
        f"{pattern.name}_options", own, bases=(Debugging, Reporting, Measuring), frozen=True
    )


def _field(one: Option) -> tuple[str, Any, Any]:
    if isinstance(one.default, bool):
        return one.key, Annotated[bool, flag(f"--{one.name}", one.help)], field(default=one.default)
    text = one.help if one.default is None else f"{one.help} Default: {one.default}."
    kind = Annotated[str | None, option(f"--{one.name}", "|".join(one.choices) or one.metavar, text)]
    return one.key, kind, field(default=None)


def command_of(pattern: Pattern) -> Callable[[Any], ExitCode]:
    """What the command does; its docstring is the help."""
    run = partial(_run, pattern)
    run.__doc__ = f"{pattern.summary}\n\n{inspect.cleandoc(pattern.help)}"
    return run


def _run(pattern: Pattern, given: Any) -> ExitCode:
    from wirespeed.cli.common.measuring import measure_and_print
    from wirespeed.launch import place

    if not pattern.published and (given.against or given.format == "tutorial"):
        word = f"--against {given.against}" if given.against else "--format tutorial"
        raise WirespeedError(f"{word}: those figures are of ping-pongs, not of {pattern.name}")
    plan, *further = plans(pattern, given)
    fixed = pattern.fixed_sizes(Shape(max(plan.ranks, 2), dict(plan.options)))
    if fixed is not None and given.sizes != (pattern.sizes or DEFAULT_SIZES):
        raise WirespeedError(f"--sizes {given.sizes}: here the sizes come from another option; leave it out")
    if place():
        # The launcher's world can be joined once.
        if further:
            raise WirespeedError("inside a launcher's job --ranks and --group take one number each")
        if given.with_ is not None:
            raise WirespeedError("--with starts a job of its own: not inside a launcher's job")
        return measure_and_print(plan, given)
    ranks = plan.ranks
    further += _each_node(pattern, plan)
    further += [
        replace(plan, pattern=name, paths=paths, ranks=find_pattern(name).ranks or ranks, options=())
        for name, paths in pattern.followed_by
    ]
    if given.with_ is not None:
        further.append(replace(plan, background=_beside(given.with_)))
    return measure_and_print(plan, given, further)


def plans(pattern: Pattern, given: Any) -> list[Plan]:
    """One plan; several where options have lists: one for each combination that is possible."""
    worlds = [pattern.ranks or 0]
    if pattern.ranks is None and given.ranks is not None:
        words = values.words("--ranks", given.ranks)
        worlds = [values.count("--ranks", word, least=1, most=1_000_000) for word in words]
    lists = [[(one.key, value) for value in _values(one, getattr(given, one.key))] for one in pattern.options]
    found = [(ranks, own) for ranks in worlds for own in product(*lists)]
    possible = [
        (ranks, own) for ranks, own in found if not ranks or not pattern.refuse(Shape(ranks, dict(own)))
    ]
    return [
        given.plan(pattern.name, ranks, debug=given.debug, test=given.test, own=own)
        # If none is, what is wrong with the first one is said.
        for ranks, own in possible or found[:1]
    ]


def _values(one: Option, word: Any) -> list[int | str | bool | None]:
    """The option's values: several where it takes a list."""
    if one.many and isinstance(word, str):
        return [_value(one, part) for part in values.words(f"--{one.name}", word)]
    return [_value(one, word)]


def _each_node(pattern: Pattern, plan: Plan) -> list[Plan]:
    """The plan again for each NUMA node, if an option asks for that and was not given."""
    from wirespeed.results.environment import cpu

    values_of = dict(plan.options)
    wanted = [one.key for one in pattern.options if one.each_node and values_of[one.key] is None]
    nodes = int(cpu()["numa_nodes"] or 1) if wanted else 1
    if nodes < 2:
        return []
    return [
        replace(plan, options=tuple({**values_of, key: node}.items()))
        for key in wanted
        for node in range(nodes)
    ]


def _beside(word: str) -> str:
    from wirespeed.frontend.background_load import parse

    return str(parse(word))


def _value(one: Option, word: Any) -> int | str | bool | None:
    """The option's value. Raises WirespeedError with one line."""
    if word is None or isinstance(word, bool):
        return one.default if word is None else word
    if one.choices:
        return values.one_of(f"--{one.name}", word, one.choices)
    if one.metavar == "FILE":
        return values.word(f"--{one.name}", word)
    return values.count(f"--{one.name}", word, least=one.least, most=one.most)
