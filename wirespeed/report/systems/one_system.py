"""All that is known of one published machine, each fact with its source."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from wirespeed.report.console.console import say
from wirespeed.report.systems.all_systems import SourceList, print_equations
from wirespeed.systems.model import Switch, System


def print_system(console: Console, key: str, system: System) -> None:
    """Node, wires, limits, batch system, switches and known defects, a line each."""
    sources = SourceList()

    def fact(label: str, text: str, source: str) -> None:
        say(console, Text.assemble((f"{label:<11}", "bold"), text, sources.mark(source)), indent=11)

    console.print(Text(f"{system.name}, {system.site}", style="bold"))
    node = system.node
    fact("node", f"{node.gpus} x {node.gpu}; {node.cpus}", node.source)
    if system.gpu_links:
        fact("GPU to GPU", system.gpu_links.text, system.gpu_links.source)
    if system.host_link:
        fact("CPU to GPU", system.host_link.text, system.host_link.source)
    if system.network:
        nics = f"{system.network.nics} x " if system.network.nics > 1 else ""
        fact("network", f"{nics}{system.network.text}", system.network.source)
    batch = system.batch
    name = "no batch system" if batch.system == "none" else batch.system
    fact("jobs", f"{name}, {batch.launcher}", batch.source)
    if system.affinity:
        fact("near", system.affinity.text, system.affinity.source)
    for switch in system.switches:
        when = "set" if switch.active else "may set"
        fact(when, f"{_setting(switch)}: {switch.why}", switch.source)
    for breakage in system.breakages:
        remedy = f"; remedy: {breakage.remedy}" if breakage.remedy else ""
        fact("breaks", f"{breakage.what}{remedy}", breakage.source)
    if system.curves:
        fact("curves", f"{', '.join(_paths(system))}: --against {key}", system.curves.source)
    print_equations(console, {"limits": system}, sources=sources)
    console.print()
    sources.print_list(console)


def _setting(switch: Switch) -> str:
    if switch.module:
        return f"module load {switch.module}"
    return switch.option or f"{switch.variable}={switch.value}"


def _paths(system: System) -> list[str]:
    from wirespeed.systems import load_curves

    return list(load_curves(system))
