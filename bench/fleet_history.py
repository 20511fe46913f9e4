"""How long `wirespeed fleet show` takes over a year of a large fleet, and how much memory.

.venv/bin/python bench/fleet_history.py --nodes 10000 --days 365

Generates packed days: 20 rows a node and day, of 16 figures of the node alone and 2 of pairs in 4 rounds.
One node is 10 % slow, and the driver changes in the middle. Then `fleet show` judges the last week, and
compares it with the four weeks before the driver's change.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path

import duckdb
from common import COMMAND, parser

ALONE, PAIRED, ROUNDS = 16, 2, 4
"""Figures of a node alone; figures of pairs; rounds of each, so that a node has 20 rows a day in all."""
FIRST = date(2026, 1, 1)
SLOW = 321
NOISE = "0.01 * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"
COMMON = """
    TIMESTAMP '{day} 03:00:00' AS at, substr(md5('{day}' || node), 1, 12) AS run,
    figure, {one} AS one, {other} AS other, '' AS part,
    1e-5 * (1 + 0.1 * (CASE WHEN {slow} THEN 1 ELSE 0 END)) * exp({noise}) AS seconds,
    'Linux 6.1' AS kernel, CASE WHEN {number} < {half} THEN '570.1' ELSE '580.2' END AS driver,
    'Open MPI 5.0.11' AS mpi
"""
ALONE_SQL = """
    SELECT {common} FROM range({nodes}) nodes(node),
    (SELECT 'copy d2d ' || (1 << i) || ' KiB' AS figure FROM range({alone}) figures(i))
"""


def name(number: str) -> str:
    return f"printf('n%05d', {number})"


def generate(folder: Path, nodes: int, days: int) -> int:
    """Day files; returns how many rows."""
    connection = duckdb.connect(config={"threads": 2, "memory_limit": "2GB"})
    rows = 0
    for number in range(days):
        day = FIRST + timedelta(days=number)

        def common(one: str, other: str, slow: str, day: date = day, number: int = number) -> str:
            return COMMON.format(
                day=day, one=one, other=other, slow=slow, noise=NOISE, number=number, half=days // 2
            )

        alone = ALONE_SQL.format(
            common=common(name("node"), "''", f"node = {SLOW}"), nodes=nodes, alone=ALONE
        )
        # A shuffled order of the nodes in each round: neighbours in it are partners.
        pairs = f"""
            WITH places AS (SELECT r, node, row_number() OVER (PARTITION BY r ORDER BY hash(node, r, '{
            day
        }')) - 1 AS place
                            FROM range({ROUNDS}) rounds(r), range({nodes}) nodes(node)),
            partners AS (SELECT a.node AS node, b.node AS partner FROM places a JOIN places b
                         ON a.r = b.r AND b.place = a.place + 1 WHERE a.place % 2 = 0)
            SELECT {
            common(
                name("least(node, partner)"), name("greatest(node, partner)"), f"{SLOW} IN (node, partner)"
            )
        }
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
    since = FIRST + timedelta(days=given.days // 2)
    with tempfile.TemporaryDirectory(prefix="fleet-", dir=".") as name:
        folder = Path(name)
        rows = generate(folder, given.nodes, given.days)
        size = sum(file.stat().st_size for file in folder.iterdir())
        load = os.getloadavg()[0]
        print(f"{rows / 1e6:.1f} million rows in {given.days} files, {size / 1e6:.0f} MB; load {load:.1f}")
        for words in ([], ["--since", str(since)]):
            command = [COMMAND, "fleet", "show", name, *words]
            began = time.monotonic()
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            assert process.stdout
            answer = process.stdout.read().splitlines()[0]
            _, _, used = os.wait4(process.pid, 0)
            took, cpu = time.monotonic() - began, used.ru_utime + used.ru_stime
            memory = used.ru_maxrss / 1024
            print(f"{' '.join(command[1:])}: {took:.1f} s, {cpu:.1f} s of CPU, {memory:.0f} MiB: {answer}")


if __name__ == "__main__":
    main()
