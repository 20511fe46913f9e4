"""What was measured on, and how each figure came about: the page's last two parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wirespeed.report.facts.machine import cpu_line, devices_lines, placement, title
from wirespeed.report.facts.transport_choices import choices
from wirespeed.report.page.sources import Measured, environment_of
from wirespeed.report.terminal.legend import legend
from wirespeed.report.terminal.size_table import Layout
from wirespeed.results.coerce import count, number, record, records, text, texts
from wirespeed.results.runs import Run
from wirespeed.units import format_rate, format_size


@dataclass(frozen=True)
class About:
    """One run: facts about its machine, and sentences about its figures."""

    measured: Measured
    title: str
    facts: list[tuple[str, str]]
    variables: list[tuple[str, str]]
    method: list[str]


def about(sets: Sequence[Measured]) -> list[About]:
    """In the order of the runs."""
    return [About(one, text(title(one.run)), facts(one), variables(one.run), method(one.run)) for one in sets]


def facts(one: Measured) -> list[tuple[str, str]]:
    """Host, processors, versions, command: what there is of them."""
    run, environment = one.run, environment_of(one.run)
    packages = record(environment.get("packages"))
    found = [
        ("Run", title(run)),
        ("File", one.file),
        ("Command", " ".join(texts(run.head.get("command")))),
        ("Ranks", "; ".join(placement(run))),
        ("CPU", cpu_line(environment)),
        ("GPU", "; ".join(devices_lines(records(environment.get("devices")))) or "none"),
        ("Driver", _drivers(run)),
        ("Kernel", environment.get("kernel")),
        ("wirespeed", run.head.get("wirespeed")),
        ("Python", environment.get("python")),
        ("Packages", ", ".join(f"{name} {version}" for name, version in packages.items())),
        ("MPI", _mpis(run)),
    ]
    return [(name, text(value)) for name, value in found if value]


def _drivers(run: Run) -> str:
    devices = records(environment_of(run).get("devices"))
    return ", ".join(dict.fromkeys(str(device["driver"]) for device in devices if device.get("driver")))


def _mpis(run: Run) -> str:
    libraries = [str(record(step.get("mpi")).get("library") or "") for step in run.steps]
    return ", ".join(filter(None, dict.fromkeys(libraries)))


def variables(run: Run) -> list[tuple[str, str]]:
    """Environment variables that can change a figure."""
    found = record(environment_of(run).get("variables"))
    return [(text(name), text(value)) for name, value in sorted(found.items())]


def method(run: Run) -> list[str]:
    """Definition, samples, intervals, checks, limits, and what each path chose: a line each."""
    if not run.entries:
        return []
    lines = legend(run, Layout([], spread=True))
    checked = [record(entry.get("checked")) for entry in run.records if entry.get("kind") == "entry"]
    rounds, size = (sum(count(one.get(name)) for one in checked) for name in ("rounds", "bytes"))
    if rounds:
        lines.append(f"payload checked in {rounds} untimed rounds, every byte: {_bytes(size)} in all")
    clock = record(run.head.get("clock"))
    cost, step = number(clock.get("cost_s")), number(clock.get("resolution_s"))
    if cost is not None and step is not None:
        lines.append(
            f"clock: one reading takes {1e9 * cost:.0f} ns, its smallest step is {1e9 * step:.0f} ns"
        )
    lines += [f"{paths}: {line}" for paths, line in choices(run)]
    return [text(line, 600) for line in lines]


def _bytes(size: int) -> str:
    return format_size(size) if size < 1e9 else f"{format_rate(size)} GB"
