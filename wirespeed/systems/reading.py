"""A system's TOML file as a System: every table checked against its dataclass, nothing passed over."""

from __future__ import annotations

import dataclasses
import re
import types
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from wirespeed.errors import WirespeedError
from wirespeed.systems.model import BATCH_SYSTEMS, JOINED, GpuLinks, Sign, Switch, System
from wirespeed.toml import parse

Table = TypeVar("Table")


def read(text: str, name: str) -> System:
    """The system in a file's text; `name` is the file's. Raises WirespeedError with table and reason."""
    try:
        data = parse(text)
    except ValueError as error:
        raise WirespeedError(f"{name}: this is no TOML: {error}") from None
    system = _table(System, data, name)
    _check(system, name)
    return system


def _table(kind: type[Table], data: Any, where: str) -> Table:
    if not isinstance(data, dict):
        raise WirespeedError(f"{where}: a table is expected here, not {data!r}")
    fields = {one.name: one for one in dataclasses.fields(kind)}  # type: ignore[arg-type]
    if unknown := sorted(set(data) - set(fields)):
        raise WirespeedError(
            f"{where}: nothing is called {', '.join(unknown)} here; allowed: {', '.join(fields)}"
        )
    missing = [one.name for one in fields.values() if _required(one) and one.name not in data]
    if missing:
        raise WirespeedError(f"{where}: {', '.join(missing)} must be given")
    hints = get_type_hints(kind)
    made = kind(**{key: _value(hints[key], value, f"{where}: {key}") for key, value in data.items()})
    source = getattr(made, "source", None)
    if source is not None and not re.search(r"https?://\S+", source):
        raise WirespeedError(f"{where}: source: write where this stands, with its https:// address")
    return made


def _required(one: dataclasses.Field[Any]) -> bool:
    return one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING


def _value(hint: Any, value: Any, where: str) -> Any:
    """The value as the dataclass has it. TOML's lists become tuples, its whole numbers rates."""
    if isinstance(hint, types.UnionType):
        hint = next(one for one in get_args(hint) if one is not type(None))
    if dataclasses.is_dataclass(hint):
        return _table(hint, value, where)  # type: ignore[arg-type]
    inner = get_args(hint)
    if get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise WirespeedError(f"{where}: a list is expected here, not {value!r}")
        return tuple(_value(inner[0], one, f"{where} {number}") for number, one in enumerate(value, 1))
    if get_origin(hint) is dict:
        if not isinstance(value, dict):
            raise WirespeedError(f"{where}: a table is expected here, not {value!r}")
        return {key: _value(inner[1], one, f"{where}: {key}") for key, one in value.items()}
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint:
        words = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
        raise WirespeedError(f"{where}: {words[hint]} is expected here, not {value!r}")
    return value


def _check(system: System, name: str) -> None:
    """What no type says."""
    if system.batch.system not in BATCH_SYSTEMS:
        raise WirespeedError(f"{name}: batch: system: allowed are {', '.join(BATCH_SYSTEMS)}")
    if system.node.gpus < 1:
        raise WirespeedError(f"{name}: node: gpus: at least 1")
    _check_links(system.gpu_links, name)
    for number, switch in enumerate(system.switches, 1):
        _check_switch(switch, f"{name}: switches {number}")
    for number, sign in enumerate(system.signs, 1):
        _check_sign(sign, f"{name}: signs {number}")
    if system.affinity and sorted(system.affinity.gpus) != list(range(system.node.gpus)):
        raise WirespeedError(f"{name}: affinity: gpus: each of the node's GPUs once, numbered from 0")


def _check_links(links: GpuLinks | None, name: str) -> None:
    if links is None:
        return
    where = f"{name}: gpu_links"
    if links.joined not in JOINED:
        raise WirespeedError(f"{where}: joined: allowed are {', '.join(JOINED)}")
    if links.joined == "direct" and (links.peers < 1 or bool(links.links_per_pair) == bool(links.pair_rate)):
        raise WirespeedError(f"{where}: direct links need peers, and one of links_per_pair and pair_rate")
    if links.joined == "uneven" and not 0 < links.least_pair_rate <= links.most_pair_rate:
        raise WirespeedError(f"{where}: uneven links need least_pair_rate and most_pair_rate")


def _check_switch(switch: Switch, where: str) -> None:
    if [bool(switch.module), bool(switch.variable), bool(switch.option)].count(True) != 1:
        raise WirespeedError(f"{where}: exactly one of module, variable and option")
    if bool(switch.variable) != bool(switch.value):
        raise WirespeedError(f"{where}: a variable and its value")
    if switch.variable and not re.fullmatch(r"[A-Za-z_]\w*", switch.variable, re.ASCII):
        raise WirespeedError(f"{where}: variable: {switch.variable!r} is no variable's name")
    # Between the shell's double quotes: variables are filled in, nothing else happens.
    if re.search(r'["`\\\n]|\$\(', switch.value + switch.option + switch.module):
        raise WirespeedError(f"{where}: no quotes, backslashes or commands in what a shell is to read")


def _check_sign(sign: Sign, where: str) -> None:
    if [bool(sign.variable), bool(sign.host), bool(sign.product)].count(True) != 1:
        raise WirespeedError(f"{where}: exactly one of variable, host and product")
    if bool(sign.variable) != bool(sign.value):
        raise WirespeedError(f"{where}: a variable and its value")
    for pattern in (sign.value, sign.host, sign.product):
        try:
            re.compile(pattern)
        except re.error as error:
            raise WirespeedError(f"{where}: {pattern!r} is no regular expression: {error}") from None
