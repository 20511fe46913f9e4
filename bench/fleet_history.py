"""How long `wirespeed fleet show` takes over a year of a large fleet, and how much memory.

.venv/bin/python bench/fleet_history.py --nodes 10000 --days 365

Generates packed days: 20 rows a node and day, of 16 figures of the node alone and 2 of pairs in 4 rounds.
One node is 10 % slow, and the driver changes in the middle. The last day is yesterday. Then `fleet show`
judges the last week, and compares it with the four weeks before the driver's change.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import duckdb
from common import COMMAND, parser

ALONE, PAIRED, ROUNDS = 16, 2, 4
"""Figures of a node alone; figures of pairs; rounds of each, so that a node has 20 rows a day in all."""
SLOW = 321
NOISE = "0.01 * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"
COMMON = """
    TIMESTAMP '{day} 03:00:00' AS at, substr(md5('{day}' || {launch}), 1, 12) AS run,
    figure, {one} AS one, {other} AS other, '' AS part,
    1e-5 * (1 + 0.1 * (CASE WHEN {slow} THEN 1 ELSE 0 END)) * exp({noise}) AS seconds,
    'Linux 6.1' AS kernel, CASE WHEN {number} < {half} THEN '570.1' ELSE '580.2' END AS driver,
    'Open MPI 5.0.11' AS mpi, 'a CPU' AS hardware, 'a CPU' AS other_hardware
"""
ALONE_SQL = """
    SELECT {common} FROM range({nodes}) nodes(node),
    (SELECT 'copy d2d ' || (1 << i) || ' KiB' AS figure FROM range({alone}) figures(i))
"""


def name(number: str) -> str:
    return f"printf('n%05d', {number})"


def generate(folder: Path, first: date, nodes: int, days: int) -> int:
    """Day files; returns how many rows. A round of pairs is one launch, and each node by itself is one."""
    connection = duckdb.connect(config={"threads": 2, "memory_limit": "2GB"})
    rows = 0
    for number in range(days):
        day = first + timedelta(days=number)

        def common(
            launch: str, one: str, other: str, slow: str, day: date = day, number: int = number
        ) -> str:
            places = {"launch": launch, "one": one, "other": other, "slow": slow}
            return COMMON.format(day=day, noise=NOISE, number=number, half=days // 2, **places)

        alone = ALONE_SQL.format(
            common=common("node", name("node"), "''", f"node = {SLOW}"), nodes=nodes, alone=ALONE
        )
        ends = name("least(node, partner)"), name("greatest(node, partner)")
        pair = common("'round ' || r", *ends, f"{SLOW} IN (node, partner)")
        # A shuffled order of the nodes in each round: neighbours in it are partners.
        pairs = f"""
            WITH places AS (SELECT r, node,
                            row_number() OVER (PARTITION BY r ORDER BY hash(node, r, '{day}')) - 1 AS place
                            FROM range({ROUNDS}) rounds(r), range({nodes}) nodes(node)),
            partners AS (SELECT a.r AS r, a.node AS node, b.node AS partner FROM places a JOIN places b
                         ON a.r = b.r AND b.place = a.place + 1 WHERE a.place % 2 = 0)
            SELECT {pair}
            FROM partners, (SELECT 'pingpong host ' || (8 << (10 * i)) || ' B' AS figure
                            FROM range({PAIRED}) figures(i))
        """
        file = str(folder / f"{day}.parquet")
        connection.execute(
            f"COPY ({alone} UNION ALL ({pairs})) TO '{file}' (FORMAT parquet, COMPRESSION zstd)"
        )
        rows += nodes * (ALONE + PAIRED * ROUNDS // 2)
    return rows


def main() -> None:
    given = parser(__doc__, nodes=10_000, days=365).parse_args()
    first = datetime.now(timezone.utc).date() - timedelta(days=given.days)
    since = first + timedelta(days=given.days // 2)
    with tempfile.TemporaryDirectory(prefix="fleet-", dir=".") as name:
        folder = Path(name)
        rows = generate(folder, first, given.nodes, given.days)
        size = sum(file.stat().st_size for file in folder.iterdir())
        load = os.getloadavg()[0]
        print(f"{rows / 1e6:.1f} million rows in {given.days} files, {size / 1e6:.0f} MB; load {load:.1f}")
        for words in ([], ["--since", str(since)]):
            command = [COMMAND, "fleet", "show", name, *words]
            began = time.monotonic()
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            assert process.stdout
            answer = process.stdout.read().splitlines()[0]
            _, status, used = os.wait4(process.pid, 0)
            took, cpu = time.monotonic() - began, used.ru_utime + used.ru_stime
            memory = used.ru_maxrss / 1024
            code = os.waitstatus_to_exitcode(status)
            cost = f"{took:.1f} s, {cpu:.1f} s of CPU, {memory:.0f} MiB"
            print(f"{' '.join(command[1:])}: exit code {code}, {cost}: {answer}")


if __name__ == "__main__":
    main()
