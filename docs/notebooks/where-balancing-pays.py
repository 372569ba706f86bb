"""The sweeps of `where-balancing-pays.ipynb`: 6,048 plans on 504 machines, most of which nobody has built.

    python where-balancing-pays.py [--dask ADDRESS] [--workers N] [--machines N] [--out DIR] [--cache DIR]

There is a sweep for each of two programs. They take some minutes of one CPU. `where-balancing-pays.parquet`, in the
directory of the sweeps, is a row per plan with the columns that the notebook reads. The same command goes on after an
interruption.
"""

import argparse
from pathlib import Path
from typing import Any

import numalab as nl

KERNELS = ["off", "6.12"]
MEMORY = "128MiB"
# Programs and their parameters: threads with memory of their own, for several lengths of the run, and shared memory.
PROGRAMS: dict[str, dict[str, Any]] = {
    "numa02": {"memory": MEMORY, "loops": [12, 25, 50, 200, 800]},
    "random-shared": {"memory": MEMORY, "duration": "8s"},
}
NODES = (2, 4, 8)
CORES = (1, 2, 4)
REMOTE = (1.1, 1.2, 1.3, 1.5, 1.7, 2.0, 2.5, 3.0)
GBPS = (5, 8, 12, 20, 40, 80, 160)


def machine(nodes: int, cores: int, remote: float, gbps: int) -> nl.Machine:
    """Return a machine of one socket per node, every two of them joined by a link of 30 GB/s."""
    hop_ns = round(100 * (remote - 1))
    return nl.Machine(
        f"n{nodes}-c{cores}-r{remote}-b{gbps}",
        f"{nodes} nodes of {cores} cores, remote latency {remote} times local, {gbps} GB/s a node",
        class_="modern",
        layout=nl.Layout(sockets=nodes, cores_per_node=cores),
        memory={"per_node": "8 GiB", "peak_gbps": 1.25 * gbps, "sustained_gbps": gbps},
        distance={"by_hop": [10, 20]},
        latency={"by_hop_ns": [100, 100 + hop_ns]},
        links=[nl.Link("nodes", scope="all", peak_gbps=40, sustained_gbps=30, hop_ns=hop_ns)],
        clock={"base_ghz": 2.5, "sustained_ghz": 3.0, "single_ghz": 3.5},
        cache={"l2": "1 MiB", "l2_cycles": 14, "llc": "4 MiB", "llc_ns": 20, "llc_stream_gbps": 20},
        stream={"lines_sequential": 64, "lines_random": 16, "cap_gbps": 20},
        tlb={"entries_4k": 2048, "entries_2m": 2048},
    )


def machines() -> list[nl.Machine]:
    """Return every machine of the grid."""
    return [machine(n, c, r, b) for n in NODES for c in CORES for r in REMOTE for b in GBPS]


def grids(count: int | None = None) -> list[nl.Grid]:
    """Return the plans on all machines, or on ``count`` of them: a grid for each program."""
    every = machines()
    some = every[:: max(1, len(every) // count)][:count] if count else every
    return [nl.Grid(some, KERNELS, program, params=params, name=program) for program, params in PROGRAMS.items()]


def reduced(sweeps: list[nl.Sweep]) -> Any:
    """Return the rows of the sweeps as a frame of polars, with the figures of the machines in columns."""
    import polars as pl

    name = r"^n(?<nodes>\d+)-c(?<cores>\d+)-r(?<remote>[\d.]+)-b(?<gbps>\d+)$"
    return (
        pl.concat([sweep.polars() for sweep in sweeps], how="diagonal")
        .filter(pl.col("status") == "completed")
        .select(
            "workload",
            pl.col("machine").str.extract_groups(name).alias("shape"),
            pl.col("param.loops").cast(pl.Int16).alias("loops"),
            "kernel",
            pl.col("elapsed_s", "user_s", "system_s").cast(pl.Float32),
            pl.col("accesses").cast(pl.Float32),
            pl.col("numa_pages_migrated").cast(pl.Int32),
        )
        .unnest("shape")
        .with_columns(
            pl.col("nodes", "cores").cast(pl.Int8),
            pl.col("remote").cast(pl.Float32),
            pl.col("gbps").cast(pl.Int16),
        )
        .sort("workload", "nodes", "cores", "remote", "gbps", "loops", "kernel")
    )


def main() -> None:
    """Carry out the sweeps and write the reduced dataset."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dask", help="address of a scheduler")
    parser.add_argument("--workers", type=int, help="processes on this machine")
    parser.add_argument("--machines", type=int, help="how many of the machines (default: all)")
    parser.add_argument("--out", type=Path, default=Path("out/where-balancing-pays"))
    parser.add_argument("--cache", help="directory of finished plans")
    args = parser.parse_args()
    done = []
    for grid in grids(args.machines):
        out = args.out / grid.name
        done.append(nl.sweep(grid, out=out, client=args.dask, workers=args.workers, cache=args.cache))
        print(done[-1], done[-1].counts)
    path = args.out / "where-balancing-pays.parquet"
    reduced(done).write_parquet(path, compression="zstd", compression_level=19)
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
