"""Published machines: their files, the limits that follow, and how a machine is recognised."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden import Golden

from wirespeed import systems
from wirespeed.errors import WirespeedError
from wirespeed.limits.rates import device_links
from wirespeed.systems import all_systems, load, names
from wirespeed.systems.limits import between_two, of_figure, out_of_group, to_host
from wirespeed.systems.model import System
from wirespeed.systems.reading import read
from wirespeed.systems.recognition import Here, look, recognise
from wirespeed.systems.reference import of_machines

KNOWN = names()
SMALL = """
name = "Small"
site = "a desk"
[node]
cpus = "1 CPU"
gpu = "NVIDIA H200"
gpus = 2
driver_names = ["NVIDIA H200"]
source = "its page, https://example.org/small"
[batch]
system = "slurm"
launcher = "srun"
source = "https://example.org/small"
"""
LINKS = '[gpu_links]\ntext = "wires"\nsource = "https://example.org"\n'
SWITCH = '[[switches]]\nwhy = "speed"\nsource = "https://example.org"\n'
WRONG = [
    "colour = 'red'\n" + SMALL,
    SMALL.replace("gpus = 2", "gpus = 2\nspeed = 3"),
    SMALL.replace('source = "its page, https://example.org/small"', ""),
    SMALL.replace("its page, https://example.org/small", "trust me"),
    SMALL.replace("gpus = 2", 'gpus = "two"'),
    SMALL.replace("gpus = 2", "gpus = true"),
    SMALL.replace("gpus = 2", "gpus = 0"),
    SMALL.replace('["NVIDIA H200"]', '"NVIDIA H200"'),
    SMALL.replace('"slurm"', '"pigeons"'),
    SMALL.replace("[node]", "[node"),
    'node = 3\nname = "x"\nsite = "y"\nbatch = 4',
    SMALL + LINKS + 'joined = "string"',
    SMALL + LINKS + 'joined = "direct"\npeers = 1',
    SMALL + LINKS + 'joined = "uneven"',
    SMALL + SWITCH,
    SMALL + SWITCH + 'module = "a"\noption = "-b"',
    SMALL + SWITCH + 'variable = "A"',
    SMALL + SWITCH + 'variable = "A B"\nvalue = "1"',
    SMALL + SWITCH + 'variable = "A"\nvalue = "$(rm -r /)"',
    SMALL + SWITCH + "variable = 'A'\nvalue = '\"; rm'",
    SMALL + '[[signs]]\nsource = "https://example.org"',
    SMALL + '[[signs]]\nhost = "("\nsource = "https://example.org"',
    SMALL + '[affinity]\ngpus = [1, 1]\ntext = "x"\nsource = "https://example.org"',
]
"""Files with one mistake each."""


class TestFiles:
    @pytest.mark.parametrize("name", KNOWN)
    def test_every_file_is_valid(self, name: str) -> None:
        """Unknown keys, wrong types and facts without a source are errors of the reader."""
        system = load(name)
        assert system.name and system.site
        assert system.node.gpus >= 1
        assert load(name.upper()) == system

    @pytest.mark.parametrize("name", KNOWN)
    def test_rates_of_gpus_are_referred_to_not_repeated(self, name: str) -> None:
        """What the driver calls a GPU must be a name of links.toml, or have its own source and rate."""
        system = load(name)
        for gpu in system.node.driver_names:
            assert device_links(gpu) is not None or system.node.names_source, gpu
        if system.host_link:
            assert to_host(system) is not None
        if system.gpu_links:
            assert between_two(system) is not None

    @pytest.mark.parametrize("file", sorted(systems.FOLDER.rglob("*.toml")), ids=lambda file: file.name)
    def test_a_page_that_changes_is_cited_by_its_revision(self, file: Path) -> None:
        """Protects from a fact that its source no longer says: pages were rewritten, and seven are gone."""
        for address in re.findall(r"https://github\.com/[^\s\";,]+", file.read_text()):
            fixed = (
                r"https://github\.com/[^/]+/[^/]+/((blob|tree)/[0-9a-f]{40}/|(issues|pull|discussions)/\d)"
            )
            assert re.match(fixed, address), address

    def test_a_wrong_file_is_told_where(self, golden: Golden) -> None:
        """Nothing is passed over: a misspelt key would be a fact that silently does not count."""
        told: dict[str, object] = {}
        for text in WRONG:
            with pytest.raises(WirespeedError) as caught:
                read(text, "small.toml", System)
            odd = "; ".join(line for line in text.splitlines() if line not in SMALL)
            told[f"{len(told) + 1}: {odd}"] = caught.value
        golden("systems/wrong_files", told)


@given(st.sampled_from(KNOWN), st.integers(1, 8))
def test_a_cut_is_as_wide_from_both_sides(name: str, size: int) -> None:
    """What leaves a group enters the rest: both have the same limit, one way."""
    system = load(name)
    mine, theirs = out_of_group(system, size), out_of_group(system, system.node.gpus - size)
    assert not (mine and theirs) or mine.rate == pytest.approx(theirs.rate)


class TestPublished:
    FIGURES = tuple(of_machines())

    def test_every_figure_is_of_a_known_machine_path_and_pattern(self) -> None:
        from wirespeed.paths import all_paths
        from wirespeed.patterns import all_patterns

        paths = {path.name for path in all_paths()} | {"ipc"}
        for key, one in self.FIGURES:
            assert key in KNOWN
            assert one.figure.operation in all_patterns()
            assert one.figure.path.removesuffix(" (UCX)") in paths
            assert one.figure.ranks % one.figure.group == 0

    def test_nothing_published_is_above_its_limit(self) -> None:
        for key, one in self.FIGURES:
            figure = one.figure
            limit = of_figure(load(key), figure.operation, figure.path, figure.group, figure.ranks)
            # Of a bar its middle: 1.5 pixels of the chart are 2 %.
            assert limit is None or sum(figure.rates) / 2 < limit.rate, (key, figure)


A100 = ["NVIDIA A100-SXM4-40GB"] * 8
H200 = ["NVIDIA H200"] * 8


class TestRecognition:
    @pytest.mark.parametrize(
        ("environment", "hostname", "devices", "product", "found"),
        [
            ({"LMOD_SYSTEM_NAME": "frontier"}, "login05", [], "", "frontier"),
            ({"LMOD_SYSTEM_NAME": "summit"}, "batch3", [], "", "summit"),
            ({"LMOD_SYSTEM_NAME": "crusher"}, "crusher062", [], "HPE Cray EX235a", "crusher"),
            ({"LMOD_SYSTEM_NAME": "spock"}, "spock13", [], "", "spock"),
            ({"NERSC_HOST": "perlmutter"}, "nid004434", ["NVIDIA A100-SXM4-40GB"] * 4, "", "perlmutter"),
            ({}, "dt-login03.delta.ncsa.illinois.edu", [], "", "delta"),
            ({}, "dt-login03", [], "", "delta"),
            # A DGX A100 by its box, ThetaGPU by its name: the name says more.
            ({}, "thetagpu07", A100, "DGXA100 920-23687-2530-000", "thetagpu"),
            ({}, "thetagpusn1", [], "", None),
            ({}, "anywhere", A100, "DGXA100 920-23687-2530-000", "dgx-a100"),
            ({}, "anywhere", ["NVIDIA H100 80GB HBM3"] * 8, "DGXH100", "dgx-h100"),
            ({}, "anywhere", H200, "NVIDIA DGX H200\n", "dgx-h200"),
            ({}, "anywhere", H200[:4], "DGXH200", None),  # not all of its GPUs are to be seen
            ({}, "anywhere", H200, "PowerEdge XE9680", None),  # the same GPUs in another box
            ({}, "anywhere", [], "DGXH200", None),
            ({"LMOD_SYSTEM_NAME": "frontier2"}, "login05", [], "", None),
            ({"LMOD_SYSTEM_NAME": "frontier", "NERSC_HOST": "perlmutter"}, "x", [], "", None),
            ({}, "dtai-login.delta.ncsa.illinois.edu", [], "", None),  # DeltaAI is another machine
            ({}, "", [], "", None),
        ],
    )
    def test_by_its_own_signs(
        self, environment: dict[str, str], hostname: str, devices: list[str], product: str, found: str | None
    ) -> None:
        """A wrong guess would put another machine's switches into a job: where unsure, None."""
        assert recognise(Here(environment, hostname, devices, product), all_systems()) == found

    @given(st.dictionaries(st.text(max_size=8), st.text(max_size=8)), st.text(max_size=20))
    def test_strangers_are_not_recognised(self, environment: dict[str, str], hostname: str) -> None:
        assert recognise(Here(environment, hostname, H200[:2], "vm"), all_systems()) is None

    def test_what_is_seen_without_a_driver(self, tmp_path: Path) -> None:
        """On a login node there may be none of these files; on a GPU node they name the box and its GPUs."""
        assert (look(tmp_path).devices, look(tmp_path).product) == ((), "")
        (tmp_path / "sys/class/dmi/id").mkdir(parents=True)
        (tmp_path / "sys/class/dmi/id/product_name").write_text("DGXH200\n")
        for number in range(8):
            folder = tmp_path / f"proc/driver/nvidia/gpus/0000:0{number}:00.0"
            folder.mkdir(parents=True)
            (folder / "information").write_text("Model: \t\t NVIDIA H200\nIRQ:   \t\t 42\n")
        here = look(tmp_path)
        assert recognise(Here({}, "n1", here.devices, here.product), all_systems()) == "dgx-h200"

    def test_a_newcomer_is_found_by_being_there(self, tmp_path: Path) -> None:
        """One file, no other edit: CONTRIBUTING's promise; 50000000000 and 200e9 are rates both."""
        sign = '[[signs]]\nvariable = "SITE"\nvalue = "desk"\nsource = "https://example.org"\n'
        links = LINKS + 'joined = "uneven"\nleast_pair_rate = 50000000000\nmost_pair_rate = 200e9\n'
        (tmp_path / "small.toml").write_text(SMALL + links + sign)
        found = all_systems(tmp_path)
        assert recognise(Here({"SITE": "desk"}, "n1", []), found) == "small" == names(tmp_path)[0]
        made: Any = found["small"].gpu_links
        assert (made.least_pair_rate, made.most_pair_rate) == (50e9, 200e9)
