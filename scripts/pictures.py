#!/usr/bin/env python3
"""Draws the pictures of docs/explanation/numa-balancing.md from runs of numalab: `make pictures`.

NUMALAB names the command, and the pictures are SVG files in docs/images. The simulator is deterministic, so the same
release draws the same bytes.
"""

import csv
import os
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMAND = os.environ.get("NUMALAB", str(ROOT / "target/release/numalab"))
IMAGES = ROOT / "docs/images"
# Legible on a light and on a dark page.
NODES = ["#4477aa", "#ee8866", "#44aa88", "#bb77bb"]
TEXT = "#808080"
GRID = "#80808050"
EMPTY = "#80808020"
# An entry of an event log: time, duration, kind, code, task, x, y, z (docs/reference/records.md).
ENTRY = struct.Struct("<QQHHIIIQ")
SCAN = 5


class Picture:
    """An SVG picture that is put together from shapes."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'font-family="sans-serif" font-size="12" fill="{TEXT}">\n<title>{title}</title>\n'
        )
        self.parts: list[str] = []

    def rect(self, x: float, y: float, w: float, h: float, color: str) -> None:
        path = f"M{x:.1f} {y:.1f}h{w:.1f}v{h:.1f}h{-w:.1f}z"
        self.parts.append(f'<path shape-rendering="crispEdges" fill="{color}" d="{path}"/>')

    def line(self, points: list[tuple[float, float]], color: str, width: float = 1.5, dash: str = "") -> None:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<polyline fill="none" stroke="{color}" stroke-width="{width}"{dashed} points="{path}"/>')

    def dot(self, x: float, y: float, color: str) -> None:
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2" fill="{color}"/>')

    def text(self, x: float, y: float, text: str, anchor: str = "start", color: str = TEXT, size: int = 12) -> None:
        text = text.replace("&", "&amp;").replace("<", "&lt;")
        form = f'text-anchor="{anchor}" fill="{color}" font-size="{size}"'
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" {form}>{text}</text>')

    def write(self, name: str) -> None:
        (IMAGES / name).write_text(self.head + "\n".join(self.parts) + "\n</svg>\n")
        print(f"docs/images/{name}")


class Axes:
    """A panel with seconds across and a value from 0 up."""

    def __init__(self, picture: Picture, x: int, y: int, width: int, height: int, seconds: float, most: float) -> None:
        self.picture, self.left, self.top, self.width, self.height = picture, x, y, width, height
        self.seconds, self.most = seconds, most

    def at(self, seconds: float, value: float) -> tuple[float, float]:
        return self.left + seconds / self.seconds * self.width, self.top + self.height * (1 - value / self.most)

    def frame(self, title: str, every: int, values: list[tuple[float, str]]) -> None:
        self.picture.text(self.left, self.top - 8, title)
        for value, label in values:
            y = self.at(0, value)[1]
            self.picture.line([(self.left, y), (self.left + self.width, y)], GRID, 1)
            self.picture.text(self.left - 6, y + 4, label, "end")
        for second in range(0, int(self.seconds) + 1, every):
            x = self.at(second, 0)[0]
            self.picture.text(x, self.top + self.height + 15, f"{second} s", "middle")


def run(folder: Path, *words: str) -> Path:
    """Runs one plan, and returns the directory of its record."""
    out = folder / words[words.index("--out") + 1]
    subprocess.run([COMMAND, "run", *words], cwd=folder, check=True, capture_output=True)
    (record,) = [p for p in out.iterdir() if p.is_dir()]
    return record


def series(record: Path, name: str) -> list[dict[str, str]]:
    with (record / "series" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def scans(record: Path) -> Iterator[tuple[float, int]]:
    """Time in seconds, and pages marked, of every scan of a run with an event log."""
    data = (record.parent / f"{record.name}.events").read_bytes()
    start = data.index(b"\n") + 1
    for at in range(start, len(data), ENTRY.size):
        time, _, kind, _, _, _, _, pages = ENTRY.unpack_from(data, at)
        if kind == SCAN:
            yield time / 1e9, pages


def memory_map(picture: Picture, record: Path, x: int, y: int, width: int, height: int, title: str) -> None:
    """Which node held every stretch of the buffer, over time. A stretch is a row."""
    rows = series(record, "page_node")
    stretches = [k for k in rows[0] if "/buffer+" in k]
    times = [int(row["time_ns"]) / 1e9 for row in rows]
    axes = Axes(picture, x, y, width, height, times[-1], 1)
    axes.frame(title, 5, [])
    step = height / len(stretches)
    # Rows that are alike are one, and in each row stretches of time with the same node are one shape.
    shapes = [tuple(row[s] for row in rows) for s in stretches]
    first = 0
    for last in range(1, len(shapes) + 1):
        if last < len(shapes) and shapes[last] == shapes[first]:
            continue
        begin = 0
        for end in range(1, len(times) + 1):
            if end < len(times) and shapes[first][end] == shapes[first][begin]:
                continue
            until = times[end] if end < len(times) else times[-1]
            left, right = axes.at(times[begin], 0)[0], axes.at(until, 0)[0]
            node = int(shapes[first][begin])
            color = NODES[node] if node >= 0 else EMPTY
            picture.rect(left, y + first * step, right - left, (last - first) * step, color)
            begin = end
        first = last


def legend(picture: Picture, x: int, y: int, entries: list[tuple[str, str]]) -> None:
    for word, color in entries:
        picture.rect(x, y - 9, 10, 10, color)
        picture.text(x + 15, y, word)
        x += 32 + int(6.3 * len(word))


def draw_map(folder: Path) -> None:
    plan = ["--machine", "4x1x2x1", "--workload", "first-touch"]
    off = run(folder, *plan, "--kernel", "off", "--out", "map-off")
    on = run(folder, *plan, "--kernel", "6.12", "--out", "map-on")
    picture = Picture(720, 330, "Memory over time, without and with NUMA balancing")
    memory_map(picture, off, 20, 30, 330, 250, "off: memory stays where it was touched first")
    memory_map(picture, on, 380, 30, 330, 250, "6.12: each stretch moves to its thread")
    legend(picture, 20, 318, [(f"node {i}", color) for i, color in enumerate(NODES)])
    picture.write("balancing-map.svg")
    draw_faults(on)


def draw_faults(record: Path) -> None:
    rows = series(record, "numa_activity")
    times = [int(row["time_ns"]) / 1e9 for row in rows]
    counts = {k: [int(row[k]) for row in rows] for k in rows[0] if k.startswith("numa_")}
    local = counts["numa_hint_faults_local"]
    remote = [all_ - near for all_, near in zip(counts["numa_hint_faults"], local)]
    lines = [
        ("pages that scans marked", TEXT, counts["numa_pte_updates"], ""),
        ("faults on near pages", NODES[2], local, ""),
        ("faults on far pages", NODES[1], remote, ""),
        ("pages that moved (dashed)", NODES[0], counts["numa_pages_migrated"], "5 5"),
    ]
    most = max(max(values) for _, _, values, _ in lines)
    picture = Picture(720, 300, "Marks, faults and migrations, added up over time")
    axes = Axes(picture, 60, 30, 640, 210, times[-1], most * 1.05)
    axes.frame("thousands, added up since the start", 5, [(v * 1e3, f"{v}") for v in range(0, int(most / 1e3), 200)])
    for _, color, values, dash in lines:
        picture.line([axes.at(t, v) for t, v in zip(times, values)], color, 2, dash)
    legend(picture, 30, 290, [(word, color) for word, color, _, _ in lines])
    picture.write("balancing-faults.svg")


def draw_period(folder: Path) -> None:
    plan = ["--machine", "2x1x4x1", "--kernel", "6.12", "--param", "duration=90s", "--trace"]
    picture = Picture(720, 300, "Time between two scans of a program, over time")
    axes = Axes(picture, 60, 30, 640, 210, 90, 8)
    axes.frame("seconds since the scan before", 15, [(v, f"{v}") for v in range(0, 9, 2)])
    words = [
        ("first-touch", "first-touch: every thread has its own memory", NODES[0]),
        ("random-shared", "random-shared: all threads use all memory", NODES[1]),
    ]
    for workload, _, color in words:
        times = [t for t, pages in scans(run(folder, *plan, "--workload", workload, "--out", workload)) if pages]
        for before, after in zip(times, times[1:]):
            axes.picture.dot(*axes.at(after, min(after - before, 8)), color)
    legend(picture, 30, 290, [(word, color) for _, word, color in words])
    picture.write("balancing-period.svg")


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        draw_map(Path(folder))
        draw_period(Path(folder))


if __name__ == "__main__":
    main()
