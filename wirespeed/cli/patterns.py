"""A command for each pattern: its name, its help and its own options come from the pattern's file."""

from __future__ import annotations

import inspect
from dataclasses import replace
from itertools import product
from typing import Any

import click

from wirespeed.cli.common import words
from wirespeed.cli.common.help_all import RARE
from wirespeed.cli.common.options import (
    Decorator,
    Reporting,
    dry_run,
    flag,
    fresh,
    launches,
    measuring,
    option,
    plan_of,
    profiling,
    reporting,
    soaking,
    together,
    unlisted,
    where,
)
from wirespeed.cli.common.streams import note, one_of_ranks
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.host.process import host_name
from wirespeed.job.plan import Plan
from wirespeed.job.soaking import PLAIN, lacks_soak
from wirespeed.patterns import Option, Pattern, Shape, find_pattern

RANKS = "Ranks, or several counts as in 2,4,8. Default: {}."
OVERSUBSCRIBE = "Start the ranks even if there are more than 8 for each CPU."
WITH = (
    "Measure twice: alone, and while another pattern, such as stream:host:16M, runs on the same processors."
)
ONE_HOST = "With --hosts: measure on the first of them alone before, and print both beside each other."
PICTURE = (
    "Draw the field (.png, .pdf, .svg) after the measurement, --steps steps or more from its initial state. "
    "Of several runs the last one draws."
)

MESSAGES = "Then the ping-pong from pageable and from pinned memory: what pinning is worth to messages."


def command_of(pattern: Pattern) -> click.Command:
    """The pattern's own options first, then those of every measuring command."""

    def command(**given: Any) -> ExitCode:
        return _run(pattern, given)

    own = [_option(option) for option in pattern.options]
    rule, sizes = pattern.rank_rule, pattern.size_rule
    if rule.many:
        own = [flag("--oversubscribe", OVERSUBSCRIBE, **RARE), *own]
    if rule.exact is None:
        usual = "one rank per GPU, or per core without GPUs, at most 8"
        if rule.per_gpu:
            usual = f"one per GPU, at least {rule.usual}"
        own = [option("--ranks", words.several(words.count(1, 1_000_000)), RANKS.format(usual)), *own]
    if pattern.shown.followed_by:
        own.append(flag("--messages", MESSAGES))
    if pattern.kind.program:
        own.append(option("--picture", words.FILE, PICTURE))
    if pattern.shown.published:
        own.append(flag("--one-host-too", ONE_HOST, **RARE))
    background = option("--with background", words.Word("PATTERN:PATH[:SIZE]", _background), WITH, **RARE)
    measured = measuring(sizes.usual, sizes.option)
    shown = together(reporting(pattern.shown.published, pattern.shown.by_nccl_tests), profiling)
    options = together(*own, measured, soaking, fresh, launches, background, dry_run, shown, where)
    text = f"{pattern.summary}\n\n{inspect.cleandoc(pattern.help)}"
    made = click.command(pattern.name, help=text)(options(command))
    hidden = ("sizes",) * (sizes.fixed is not None) + ("soak",) * bool(lacks_soak(pattern))
    hidden += () if _has_messages(pattern) else ("fresh",)
    return unlisted(made, *hidden)


def _has_messages(pattern: Pattern) -> bool:
    """Does it send messages, from buffers that each may be new?"""
    return not (pattern.kind.program or pattern.kind.one_sided or pattern.kind.intra_rank)


def _option(one: Option) -> Decorator:
    if isinstance(one.default, bool):
        return flag(f"--{one.name}", one.help, default=one.default)
    usual = "" if one.default is None else f"  [default: {one.default}]"
    return option(f"--{one.name}", _kind(one), one.help + usual)


def _kind(one: Option) -> words.Word:
    """Of word that it takes."""
    special = {
        "FILE": words.FILE,
        "I-J,...": words.PAIRS,
        "MODEL": words.KV,
        "SIZE": words.SIZE,
        "WxH": words.GRID,
        "NORM": words.NORM,
    }
    kind = special.get(one.metavar) or words.count(one.least, one.most)
    kind = words.choice(*one.choices) if one.choices else kind
    return words.several(kind) if one.many else kind


def _background(word: str) -> str:
    from wirespeed.frontend.background_load import parse

    return str(parse(word))


def _run(pattern: Pattern, given: dict[str, Any]) -> ExitCode:
    from wirespeed.cli.common.measuring import measure_and_print

    how = Reporting(*map(given.pop, ("style", "against", "explain", "all_sizes")))
    background, messages = given.pop("background"), given.pop("messages", False)
    one_host = given.pop("one_host_too", False)
    if not pattern.shown.published and (how.against or how.format == "tutorial"):
        word = f"--against {how.against}" if how.against else "--format tutorial"
        raise WirespeedError(f"{word}: those figures are of ping-pongs, not of {pattern.name}")
    if given.get("soak") and how.format not in ("table", "json", "ticket"):
        raise WirespeedError(
            f"--format {how.format} prints figures, and a soak has none: take table, json or ticket"
        )
    if how.format == "nccl-tests" and not pattern.shown.by_nccl_tests:
        raise WirespeedError(
            f"--format nccl-tests: that layout is of collective operations, not of {pattern.name}"
        )
    dry = given.pop("dry_run")
    plan, *further = plans(pattern, given)
    if plan.soak and (further or background):
        what = "--with compares figures" if background else "one file takes one soak"
        raise WirespeedError(f"--soak: {what}; leave out --with, and lists of --ranks and other options")
    if plan.fresh and not _has_messages(pattern):
        raise WirespeedError(
            f"--fresh: {pattern.name} has no messages that buffers of their own could send; leave it out"
        )
    rule = pattern.at(Shape(max(plan.ranks, 2), dict(plan.options))).size_rule
    if plan.sizes and rule.fixed is not None:
        word = f"--{rule.option}"
        raise WirespeedError(
            f"{word}: {rule.fixed_by or pattern.name} fixes the sizes here; leave {word} out"
        )
    if dry and one_of_ranks():
        raise WirespeedError("--dry-run starts no ranks, and a launcher has started these: run it alone")
    if one_of_ranks():
        # The launcher's world can be joined once.
        if further:
            raise WirespeedError("inside a launcher's job --ranks and --group take one number each")
        if background:
            raise WirespeedError("--with starts a job of its own: not inside a launcher's job")
        return measure_and_print(_bounded(plan, pattern, given), how)
    further += _each_node(pattern, plan)
    further += [
        replace(
            plan,
            pattern=name,
            paths=paths,
            sizes=plan.sizes or rule.chosen(),
            ranks=find_pattern(name).rank_rule.exact or plan.ranks,
            options=(),
        )
        for name, paths in pattern.shown.followed_by * messages
    ]
    if background:
        further.append(replace(plan, background=background))
    if one_host:
        if len(set(plan.hosts)) < 2:
            raise WirespeedError("--one-host-too: it compares one host with several; add --hosts a,b")
        first = () if plan.hosts[0] == host_name() else plan.hosts[:1]
        plan, further = replace(plan, hosts=first), [plan, *further]
    plan, *further = (_bounded(each, pattern, given, 1 + len(further)) for each in (plan, *further))
    if dry:
        from wirespeed.cli.common.dry_run import print_orders

        return print_orders([plan, *further], as_json=how.format == "json")
    return measure_and_print(plan, how, further)


def _bounded(plan: Plan, pattern: Pattern, given: dict[str, Any], plans: int = 1) -> Plan:
    """With the usual bound where none was given: a time of the whole command, so much for each launch."""
    timed = (given.get(name) for name in ("budget", "max_time", "loops", "soak"))
    if pattern.kind.program or any(time is not None for time in timed):
        return plan
    return replace(plan, budget=pattern.timing.budget_s * plan.launches * plans)


def plans(pattern: Pattern, given: dict[str, Any]) -> list[Plan]:
    """One plan; several where options have lists: one for each combination that is possible."""
    own = {option.key: _value(option, given) for option in pattern.options}
    apart = {*own, "ranks", "one_host_too", "messages", "dry_run"}
    common = {name: value for name, value in given.items() if name not in apart}
    worlds = given.get("ranks") or [pattern.at(Shape(0, own)).rank_rule.exact or 0]
    in_one_table = {option.key for option in pattern.options if option.in_one_table}
    lists = [
        [(key, ",".join(values))]
        if key in in_one_table
        else [(key, value) for value in (values if isinstance(values, tuple) else [values])]
        for key, values in own.items()
    ]
    found = list(product(worlds, product(*lists)))
    refused = {
        (ranks, own): why
        for ranks, own in found
        if ranks and (why := pattern.at(Shape(ranks, dict(own))).refuse())
    }
    possible = [one for one in found if one not in refused]
    # If none is possible, what is wrong with the first one is said.
    for why in refused.values() if possible else ():
        note(f"left out: {why}")
    return [plan_of(common, ranks, pattern=pattern.name, options=own) for ranks, own in possible or found[:1]]


def _value(option: Option, given: dict[str, Any]) -> Any:
    """As the user gave it, else the option's default, as its word means it."""
    if (value := given[option.key]) is not None or option.default is None:
        return value
    soaks = option.key == "algorithm" and given.get("soak")
    return _kind(option).parse(str(PLAIN if soaks else option.default))


def _each_node(pattern: Pattern, plan: Plan) -> list[Plan]:
    """The plan again for each NUMA node, if an option asks for that and was not given."""
    from wirespeed.results.environment import numa_nodes

    own = dict(plan.options)
    wanted = [option.key for option in pattern.options if option.each_node and own[option.key] is None]
    nodes = numa_nodes() if wanted else []
    if len(nodes) < 2:
        return []
    return [replace(plan, options=tuple({**own, key: node}.items())) for key in wanted for node in nodes]
