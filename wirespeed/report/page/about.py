"""The page's last two parts: the machine measured on, and how each figure came about."""

from __future__ import annotations

from dataclasses import dataclass

from wirespeed.report.facts.legend import Layout
from wirespeed.report.facts.machine import cpu_line, devices_lines, memory_lines, placement, title
from wirespeed.report.facts.statements import WHOLE
from wirespeed.report.page.notes import method
from wirespeed.report.sources import ReportRun
from wirespeed.results.coerce import text


@dataclass(frozen=True)
class About:
    """One run: facts about its machine, and sentences about its figures."""

    measured: ReportRun
    title: str
    facts: list[tuple[str, str]]
    variables: list[tuple[str, str]]
    method: list[str]


def about(measured: ReportRun, layout: Layout = WHOLE) -> About:
    """Facts about one run. Environment variables are those that can change a figure.

    `layout`: the tables that the method explains.
    """
    variables = sorted(measured.run.head.environment.variables.items())
    told = [(text(name), text(value)) for name, value in variables]
    explained = method(measured.run, layout=layout)
    return About(measured, text(title(measured.run)), _facts(measured), told, explained)


def _facts(measured: ReportRun) -> list[tuple[str, str]]:
    """Host, processors, versions, command: what there is of them."""
    run, environment = measured.run, measured.run.head.environment
    drivers = dict.fromkeys(device.driver for device in environment.devices if device.driver)
    libraries = dict.fromkeys(step.mpi.library for step in run.steps if step.mpi and step.mpi.library)
    found = [
        ("Run", title(run)),
        ("File", measured.file),
        ("Command", " ".join(run.head.command)),
        ("Ranks", "; ".join(placement(run))),
        ("GPU memory", "; ".join(memory_lines(run))),
        ("CPU", cpu_line(environment.cpu, environment.memory_bytes)),
        ("GPU", "; ".join(devices_lines(environment.devices)) or "none"),
        ("Driver", ", ".join(drivers)),
        ("Kernel", environment.kernel),
        ("wirespeed", run.head.wirespeed),
        ("Python", environment.python),
        ("Packages", ", ".join(f"{name} {version}" for name, version in environment.packages.items())),
        ("MPI", ", ".join(libraries)),
    ]
    return [(name, text(value)) for name, value in found if value]
