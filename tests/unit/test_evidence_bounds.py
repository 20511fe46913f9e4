"""Where one verdict ends and the next begins: hand-worked counts of a payload of 1000 bytes each way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.counters import DUE, wire

from wirespeed.evidence.verdict import Counted, Declaration, WireVerdict, identify_wire, more_would_help

AWARE = Declaration("aware", on_device=True, direct=True, hosts=1, devices=2)
STAGED = replace(AWARE, path="staged", direct=False)
HOST = Declaration("host", on_device=False, direct=False, hosts=1, devices=0)
FAR = replace(HOST, hosts=2)
FAR_AWARE = replace(AWARE, hosts=2)
INSIDE = replace(AWARE, path="d2h", intra_rank=True, direct=False)


def driver(down: int = 0, up: int = 0, peer: int = 0, on_device: int = 0) -> list[dict[str, object]]:
    """Bytes that the driver copied, by kind."""
    kinds = {"device_to_host": down, "host_to_device": up, "peer": peer, "on_device": on_device}
    return [{"rank": 0, **{kind: {"count": 1, "bytes": count} for kind, count in kinds.items() if count}}]


def told(
    claim: Declaration, wires: list[Counted], copies: list[dict[str, object]] | None = None
) -> tuple[str, str]:
    found = identify_wire(claim, wires, copies or [], DUE)
    return found.verdict, found.text


class TestWithin:
    def test_all_that_the_driver_copied_counts(self) -> None:
        """Protects the sum of all kinds of copies."""
        assert told(INSIDE, [], driver(250, 250, 250, 250)) == (
            "copied",
            "copied by the driver (100 % of the bytes)",
        )
        assert told(INSIDE, [], driver(100, 200, 300, 380))[0] == "copied"
        assert told(INSIDE, [], driver(100, 200, 300, 379)) == ("inside", "inside one memory")

    def test_copies_on_the_gpu(self) -> None:
        assert told(INSIDE, [], driver(on_device=980)) == (
            "copied",
            "copied on the GPU by the driver (98 % of the bytes)",
        )
        assert (
            told(INSIDE, [], driver(down=10, on_device=979))[1] == "copied by the driver (99 % of the bytes)"
        )

    def test_a_rank_of_which_no_copies_are_known_has_made_none(self) -> None:
        """Protects from a copy that nobody counted, however small the payload."""
        assert identify_wire(INSIDE, [], [{"rank": 0}], 1).verdict == "inside"
        assert identify_wire(INSIDE, [], driver(down=980), 0).verdict == "inside", "nothing was to be moved"

    def test_half_over_the_slot(self) -> None:
        """Protects from 'inside one memory' where the slot was busy."""
        assert told(INSIDE, [wire("pcie", 500)]) == (
            "unknown",
            "the bytes travelled over no wire whose counters can be read",
        )
        assert told(INSIDE, [wire("pcie", 20)])[0] == "inside"

    def test_only_a_slot_that_is_there_and_silent_is_suspicious(self) -> None:
        managed = replace(INSIDE, path="h2d", crosses=True)
        assert identify_wire(managed, [wire("pcie", 0)], [], DUE).suspicious == (
            "h2d is declared to cross PCIe, but the counters show no traffic on PCIe: "
            "source and destination lie on the same side of it"
        )
        assert identify_wire(managed, [], [], DUE).suspicious is None
        assert identify_wire(INSIDE, [wire("pcie", 0)], [], DUE).suspicious is None


class TestOverNetwork:
    def test_not_all_of_it(self) -> None:
        """Protects the name of the interface that carried most, and GPUs' links from being taken for one."""
        some = [wire("network", 100, name="eth0"), wire("roce", 700, name="mlx5_0"), wire("nvlink", 900)]
        assert told(FAR, some) == (
            "unknown",
            "no interface whose counters can be read shows all of the bytes (at most 70 % over RoCE mlx5_0)",
        )
        assert told(FAR, [wire("roce", 1000, noise=600), wire("nvlink", 1000)]) == (
            "unknown",
            "traffic below the counters' granularity plus background",
        )
        assert (
            told(FAR, [wire("nvlink", 1000)])[1]
            == "the bytes travelled over no wire whose counters can be read"
        )

    def test_counters_that_show_none_of_it(self) -> None:
        """Protects what the driver has counted where no network's counters help."""
        silent = [wire("network", 0, name="eth0")]
        assert told(replace(FAR, on_device=True), silent, driver(down=1000, up=1000)) == (
            "staged",
            "staged through host memory: 100 % of the bytes copied to the host, 100 % from it; "
            "no network's counters show the bytes",
        )
        assert told(replace(FAR, on_device=False), silent) == (
            "unknown",
            "no interface whose counters can be read shows all of the bytes",
        )

    @pytest.mark.parametrize(
        ("copies", "verdict"),
        [
            (driver(down=980), "staged"),
            (driver(up=980), "staged"),
            (driver(down=979, up=979), "network"),
            (driver(on_device=1), "network"),
        ],
    )
    def test_staged_on_either_side(self, copies: list[dict[str, object]], verdict: str) -> None:
        """Protects a network that one side's GPU reaches by itself: the other side's copies say staged."""
        sent, over = [wire("roce", 1000, name="mlx5_0")], "over RoCE mlx5_0 (100 % of the bytes)"
        said = {
            "staged": f"staged through host memory, {over}",
            "network": f"{over}, without a copy through host memory that the driver counted",
        }
        assert told(FAR_AWARE, sent, copies) == (verdict, said[verdict])
        assert told(FAR, sent, copies) == ("network", "over RoCE mlx5_0 (100 % of the bytes)")
        assert told(FAR_AWARE, sent) == ("network", "over RoCE mlx5_0 (100 % of the bytes)")

    @pytest.mark.parametrize("copies", [[], driver(on_device=1), driver(down=1000, up=1000)])
    def test_a_socket_takes_host_memory(self, copies: list[dict[str, object]]) -> None:
        """Protects GPU data over TCP: a library's kernels copy it to the host, and no driver counts that."""
        eth = [wire("network", 1000, name="eth0")]
        staged = "staged through host memory, over eth0 (100 % of the bytes)"
        assert told(FAR_AWARE, eth, copies) == ("staged", staged)

    def test_loopback(self) -> None:
        """Protects host buffers beside a GPU's copies, and GPU buffers that one side alone copied."""
        lo, both = [wire("loopback", 1000, name="lo")], driver(down=980, up=980)
        plain = ("loopback", "over TCP on the loopback interface (100 % of the bytes)")
        assert told(HOST, lo, both) == told(STAGED, lo, driver(down=1000)) == told(STAGED, lo) == plain
        assert told(STAGED, lo, both) == ("staged", f"staged through host memory, {plain[1]}")
        assert (
            identify_wire(STAGED, lo, both, DUE).rests_on
            == identify_wire(HOST, lo, [], DUE).rests_on
            == "loopback"
        )

    def test_what_the_verdict_rests_on(self) -> None:
        eth = [wire("network", 1000, name="eth0")]
        assert identify_wire(FAR, eth, [], DUE).rests_on == "network"
        assert identify_wire(FAR_AWARE, eth, driver(down=980), DUE).rests_on == "network"
        assert told(FAR, eth)[1] == "over eth0 (100 % of the bytes)"


class TestBetweenGpus:
    def test_a_link_carried_it_or_not_quite(self) -> None:
        assert told(AWARE, [wire("nvlink", 980)]) == ("direct", "direct over NVLink (98 % of the bytes)")
        assert told(AWARE, [wire("nvlink", 979)]) == ("mixed", "mixed: 98 % over NVLink")
        assert told(AWARE, [wire("nvlink", 2000)])[1] == (
            "direct over NVLink (2.0 bytes counted for each one sent)"
        )
        assert told(AWARE, [wire("nvlink", 1990)])[1] == "direct over NVLink (199 % of the bytes)"

    def test_doubt_is_said_from_2_percent_on(self) -> None:
        assert told(AWARE, [wire("nvlink", 1000, noise=40)])[1] == "direct over NVLink (98 % of the bytes)"
        assert told(AWARE, [wire("nvlink", 1000, noise=60)])[1] == (
            "direct over NVLink (97 % +/- 3 % of the bytes)"
        )
        assert told(AWARE, [wire("nvlink", 1000, noise=209)])[1] == (
            "direct over NVLink (90 % +/- 10 % of the bytes)"
        )

    def test_half_of_it_over_pcie_as_well(self) -> None:
        """Protects from commands: they cross PCIe, but more than half of the payload each way are none."""
        link = wire("nvlink", 1000)
        assert told(AWARE, [link, wire("pcie", 500)])[0] == "direct"
        assert told(AWARE, [link, wire("pcie", 501)]) == ("mixed", "mixed: 100 % over NVLink, 50 % over PCIe")
        drowned = wire("pcie", 1000, noise=600)
        assert told(AWARE, [link, drowned])[0] == "direct", "uncertain counters contradict nothing"

    def test_peer_copies(self) -> None:
        """Protects the driver's word: from GPU to GPU, and next to nothing through the host."""
        assert told(AWARE, [], driver(peer=980, down=20, up=20)) == (
            "direct",
            "direct: copied from GPU to GPU (98 % of the bytes)",
        )
        assert told(AWARE, [], driver(peer=979))[0] == "unknown"
        assert told(AWARE, [], driver(peer=1000, up=21))[0] == "unknown"
        assert told(AWARE, [], driver(peer=1000, down=21))[0] == "unknown"

    def test_over_pcie_with_a_link_or_without(self) -> None:
        """Protects from both at once: PCIe has it all where a link has no traffic, or there is none."""
        slot, both = wire("pcie", 1000), driver(980, 980)
        staged = ("staged", "staged through host memory over PCIe (100 % of the bytes)")
        assert told(STAGED, [slot]) == told(AWARE, [slot], both) == staged
        assert told(STAGED, [slot, wire("nvlink", 20)]) == staged
        assert told(STAGED, [slot, wire("nvlink", 300)])[0] == "mixed"
        assert told(STAGED, [wire("pcie", 979)]) == ("mixed", "mixed: 98 % over PCIe")
        assert identify_wire(STAGED, [slot], [], DUE).rests_on == "pcie"

    def test_over_pcie_straight_or_not(self) -> None:
        """Protects the three sentences: nothing copied, all copied, and nobody knows."""
        slot = [wire("pcie", 1000)]
        straight = ("direct", "direct over PCIe (100 % of the bytes)")
        either = "over PCIe (100 % of the bytes): through host memory, or directly between the GPUs"
        assert told(AWARE, slot, driver(20, 20)) == straight
        for copies in (driver(down=21), driver(up=21), driver(down=1000), driver(up=1000), []):
            assert told(AWARE, slot, copies) == ("pcie", either)
        assert told(STAGED, slot, driver())[0] == "staged"
        assert (
            identify_wire(AWARE, slot, driver(20, 20), DUE).rests_on
            == identify_wire(AWARE, slot, [], DUE).rests_on
            == "pcie"
        )

    def test_the_drivers_count_is_worth_more_than_a_slot_in_doubt(self) -> None:
        """Protects the sentence from a slot's share among commands, from more than 2 % of uncertainty on."""
        both = driver(1040, 990)
        counted = "staged through host memory: 104 % of the bytes copied to the host, 99 % from it"
        assert told(STAGED, [wire("pcie", 1100, noise=41)], both) == ("staged", counted)
        assert " over PCIe " in told(STAGED, [wire("pcie", 1100, noise=40)], both)[1]
        assert " over PCIe " in told(STAGED, [wire("pcie", 1100, noise=41)])[1]
        assert told(STAGED, [], both) == ("staged", counted)

    def test_more_copies_than_payload_are_a_librarys_own(self) -> None:
        """Protects an uncertain link: more than 1.5 times the payload through the host are commands."""
        coarse = replace(wire("nvlink", 900), granularity=300)
        assert told(AWARE, [coarse], driver(980, 1500))[0] == "staged"
        assert (
            told(AWARE, [coarse], driver(980, 1501))[0]
            == told(AWARE, [coarse], driver(2000, 980))[0]
            == "unknown"
        )
        assert told(STAGED, [coarse], driver(980, 1501))[0] == "staged", "it does not claim to go straight"
        assert identify_wire(AWARE, [coarse], driver(980, 1500), DUE).rests_on == "nvlink"
        assert identify_wire(STAGED, [coarse], driver(980, 980), DUE).rests_on is None

    def test_one_way_alone_is_not_staged(self) -> None:
        assert told(AWARE, [], driver(down=1000)) == told(AWARE, [], driver(up=1000))
        assert told(AWARE, [], driver(down=1000)) == ("unknown", "no counters can be read here")
        assert told(AWARE, [], driver(down=980, up=979))[0] == "unknown"

    def test_in_doubt(self) -> None:
        """Protects from 'mixed' where one kind is uncertain; the other's share is all that is said."""
        drowned = wire("nvlink", 1000, noise=600)
        assert told(AWARE, [drowned, wire("pcie", 300)]) == ("mixed", "mixed: 30 % over PCIe")
        assert told(AWARE, [drowned])[1] == ("traffic below the counters' granularity plus background")
        assert told(AWARE, [drowned, wire("pcie", 0)]) == told(AWARE, [drowned])

    def test_a_promise_that_was_not_kept(self) -> None:
        """Protects the accusation: for GPUs of one host alone, and only where the path has promised."""
        both, link = driver(1000, 1000), wire("nvlink", 0)
        assert identify_wire(AWARE, [], both, DUE).suspicious == (
            "aware is declared direct, but the counters show staging: staged through host memory: "
            "100 % of the bytes copied to the host, 100 % from it"
        )
        for claim in (STAGED, replace(AWARE, devices=1), FAR_AWARE):
            assert identify_wire(claim, [link, wire("roce", 1000)], both, DUE).suspicious is None
        assert identify_wire(AWARE, [wire("nvlink", 300)], [], DUE).suspicious is None
        assert identify_wire(AWARE, [wire("xgmi", 0)], [], DUE).suspicious == (
            "aware is declared direct, but the counters show no traffic on xGMI"
        )


class TestInMemory:
    def test_interfaces_that_carried_part_of_it(self) -> None:
        """Protects the list of interfaces: those that moved, each with its share."""
        some = [wire("network", 300, name="eth0"), wire("loopback", 400), wire("roce", 0)]
        assert told(HOST, some) == (
            "mixed",
            "mixed: 30 % over eth0, 40 % over TCP on the loopback interface, the rest through shared memory",
        )
        assert told(HOST, [wire("network", 500, noise=600), wire("loopback", 0)]) == (
            "unknown",
            "traffic below the counters' granularity plus background",
        )

    def test_gpu_links_say_nothing_of_the_hosts_memory(self) -> None:
        assert told(HOST, [wire("nvlink", 0), wire("pcie", 500)]) == (
            "unknown",
            "no counters can be read here",
        )


class TestMoreWouldHelp:
    @pytest.mark.parametrize(
        ("uncertainty", "helps"), [(0.0, False), (0.02, False), (0.021, True), (9.0, True)]
    )
    def test_what_the_verdict_rests_on(self, uncertainty: float, helps: bool) -> None:
        direct = WireVerdict("direct", "", rests_on="nvlink")
        assert bool(more_would_help(replace(direct, uncertainties={"nvlink": uncertainty}), 10)) == helps
        assert not more_would_help(replace(direct, uncertainties={}), 10)

    @pytest.mark.parametrize("verdict", ["unknown", "mixed"])
    @pytest.mark.parametrize(
        ("uncertainty", "helps"), [(0.02, False), (0.03, True), (2.5, True), (2.6, False)]
    )
    def test_an_open_verdict(self, verdict: str, uncertainty: float, helps: bool) -> None:
        """Protects the time of a run ten times as long: that makes 2.5 small enough, not 2.6."""
        open_one = replace(WireVerdict(verdict, ""), uncertainties={"pcie": uncertainty, "nvlink": 0.0})
        assert more_would_help(open_one, 10) == (10 if helps else 0)
