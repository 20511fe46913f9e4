"""Posts of users: each figure is read as printed, with what it counts."""

from __future__ import annotations

import re

import pytest
from support.foreign import curves_of, read_text, text_of

from wirespeed.foreign.islands import sentences


def test_ucx_perftest_by_the_second() -> None:
    text = text_of("07")
    (curve,) = curves_of(text)
    rows = re.findall(r"^\[thread 0\] +(\d+) .* +([\d.]+) +([\d.]+) +\d+ +\d+$", text, re.M)
    assert (curve.operation, curve.unit_words, len(rows)) == ("bandwidth", "MB = 2^20 B", 6)
    for (iterations, average, overall), point in zip(rows, curve.points, strict=True):
        assert (point.bytes, point.repetitions) == (-1, int(iterations))
        assert (point.average, point.overall) == (float(average) * 2**20, float(overall) * 2**20)


def test_ucx_perftest_six_runs_behind_a_file_s_name() -> None:
    log = read_text(text_of("24"))
    (curve,) = log.curves
    assert curve.operation == "pingpong" and [
        1e6 * (point.seconds or 0) for point in curve.points
    ] == pytest.approx([1879.089, 1136.229, 1814.508, 1873.954, 1795.314, 1791.232], rel=1e-12)
    assert [point.rate for point in curve.points][3:] == [0.0, 0.01 * 2**20, 0.02 * 2**20]
    assert log.settings["UCX_IB_GPU_DIRECT_RDMA"] == "1"


def test_perftest_of_two_nics() -> None:
    log = read_text(text_of("08"))
    first, second = log.curves
    assert (first.pair, second.pair) == ("GPU0 rdmap85s0", "GPU0 rdmap87s0")
    for curve, peak, average in ((first, 174.57, 171.5), (second, 170.04, 132.18)):
        (point,) = curve.points
        assert (point.bytes, point.repetitions) == (8192, 30000)
        assert (point.peak, point.rate) == (peak / 8 * 1e9, average / 8 * 1e9)
    assert not log.unknown


MIB = """                    RDMA_Read Bidirectional BW Test
 Dual-port       : OFF          Device         : mlx5_3
 Connection type : RC           Using SRQ      : OFF
 #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]
 65536      5000             0.00               21000.50             0.336008
                    Send Latency Test
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 2       1000          1.01           4.52         1.05                1.06             0.05            1.20                    4.52
"""  # noqa: E501


def test_perftest_in_mib_both_ways_and_its_latency() -> None:
    both, latency = curves_of(MIB)
    assert (both.operation, both.direction, both.pair) == ("both-ways", "both", "mlx5_3")
    assert (both.points[0].rate, both.points[0].peak) == (21000.5 * 2**20, None)
    assert latency.operation == "pingpong" and latency.points[0].seconds == 1.06 / 1e6
    assert latency.points[0].t_max is None, "of iterations, not of ranks"
    (read,) = curves_of(MIB.partition("Send Latency")[2].join(["RDMA_Read Latency", ""]))
    assert read.operation == "rma", "a read is a whole round trip"


def test_p2p_matrices() -> None:
    text = text_of("09")
    curves = curves_of(text)
    assert len(curves) == 3 * 36
    names = list(dict.fromkeys(curve.name for curve in curves))
    assert [name.partition("=")[2].split()[0] for name in names] == ["Disabled", "Enabled", "Enabled"]
    printed = [float(word) for row in re.findall(r"^ {5}\d(.*)$", text, re.M) for word in row.split()]
    assert [curve.points[0].rate for curve in curves] == [value * 1e9 for value in printed]
    own = [curve for curve in curves if curve.operation == "local-copy"]
    assert len(own) == 18 and {curve.direction for curve in own} == {"both"}
    assert curves[1].pair == "GPU0 GPU1" and curves[1].direction == "one"


def test_topology_of_two_islands() -> None:
    topology = read_text(text_of("11")).topology
    assert topology["links"]["GPU0", "GPU3"] == "PIX" and topology["links"]["GPU4", "NIC0"] == "SYS"
    assert topology["numa"] == {f"GPU{number}": str(number // 4) for number in range(8)}
    assert list(sentences(topology)) == [
        "2 islands of GPUs (GPU0 to GPU3, GPU4 to GPU7): PIX (one PCIe switch) inside, SYS (the link between "
        "CPUs) between",
        "no NVLink",
        "NIC0 is nearest to GPU0 to GPU3 (NODE)",
        "no adapter is near GPU4 to GPU7 (the link between CPUs lies between)",
    ]


def test_imb_counts_both_directions() -> None:
    text = text_of("14")
    sendrecv, exchange = curves_of(text)
    rows = re.findall(r"^ +(\d+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)$", text, re.M)
    points = [*sendrecv.points, *exchange.points]
    assert len(rows) == len(points) == 10
    for (size, times, low, high, average, rate), point in zip(rows, points, strict=True):
        assert (point.bytes, point.repetitions) == (int(size), int(times))
        found = (point.t_min, point.t_max, point.seconds, point.rate)
        assert found == (float(low) / 1e6, float(high) / 1e6, float(average) / 1e6, float(rate) * 1e6)
    assert {curve.unit_words for curve in (sendrecv, exchange)} == {"MB = 1e6 B"}
    assert {curve.direction for curve in (sendrecv, exchange)} == {"both"}


def test_imb_of_old_has_another_mb() -> None:
    head = "# Benchmarking PingPong\n# #processes = 2\n #bytes #repetitions      t[usec]   Mbytes/sec\n"
    (curve,) = curves_of(head + "      1048576           40       100.00     10000.00\n")
    assert curve.unit_words == "MB = 2^20 B" and curve.points[0].rate == 10000 * 2**20
    (odd,) = curves_of(head + "      1048576           40       100.00     12345.00\n")
    assert odd.points[0].rate is None, "no MB fits the time"


def test_a_csv_with_units_in_its_head() -> None:
    text = text_of("22")
    (curve,) = curves_of(text)
    assert (curve.tool, curve.unit_words, len(curve.points)) == ("MPIBenchmarks.jl", "MB = 1e6 B", 20)
    for row, point in zip(text.splitlines()[1:], curve.points, strict=True):
        size, times, rate = row.split(",")
        assert (point.bytes, point.repetitions, point.rate) == (int(size), int(times), float(rate) * 1e6)
    assert not curves_of("size,bandwidth\n8,12\n"), "without a unit it is no figure"


def test_the_binding_of_a_batch_system() -> None:
    log = read_text(text_of("17"))
    assert log.settings["--gpus-per-task"] == "1" and log.settings["MPICH_GPU_SUPPORT_ENABLED"] == "1"
    assert [one.kind for one in log.failures].count("cuda-ipc") == 4
    assert len(log.commands) == 4 and not log.curves


LINKS = """GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)
\t Link 0: 26.562 GB/s
\t Link 1: <inactive>
CA 'mlx5_0'
\tCA type: MT4129
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tLink layer: InfiniBand
#      Transport: rc_mlx5
#         Device: mlx5_0:1
#           Type: network
#            bandwidth: 46523.21/ppn + 0.00 MB/sec
"""


def test_links_ports_and_ucx_devices() -> None:
    topology = read_text(LINKS).topology
    assert topology["nvlink"] == {0: (26.562e9, 0.0)} and topology["models"] == ("NVIDIA H100 80GB HBM3",)
    (port,) = topology["ports"]
    assert (port["name"], port["rate"], port["state"], port["layer"]) == (
        "mlx5_0",
        50e9,
        "Active",
        "InfiniBand",
    )
    assert topology["ucx"] == (("rc_mlx5", "mlx5_0:1", 46523.21 * 2**20),)


def test_a_number_beyond_all_numbers_is_none() -> None:
    """Protects against damaged digits: 118e999 iterations, which no integer has."""
    text = text_of("07").replace("               118 ", "           118e999 ")
    assert "118e999" in text
    assert len(curves_of(text)[0].points) == len(curves_of(text_of("07"))[0].points) - 1
    (curve,) = curves_of(text_of("22") + "1e999,1,2.0\n")
    assert len(curve.points) == 20
