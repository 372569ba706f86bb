// The kinds of maps of a run, and the meaning of their colours.

import { nodeColor, variable } from "./colors";
import { endOf, type NodeMap, nodeOf, type Process, type Run, type Workload } from "./data";
import { el } from "./dom";
import type { MapSpec } from "./heatmap";

export interface MapKind {
  id: string;
  title: string;
  /** How to read the map, in one or two sentences. */
  explain: string;
}

const NODES: Record<string, MapKind> = {
  page_node: {
    id: "page_node",
    title: "Memory: which node holds it",
    explain:
      "Each row is a stretch of memory, each column a moment; the colour is the node that held it. " +
      "A row that changes colour was migrated; one that keeps changing goes back and forth.",
  },
  task_node: {
    id: "task_node",
    title: "Threads: which node they run on",
    explain: "Each row is a thread, each column a moment; the colour is the node of the CPU it ran on. A change of colour is a move.",
  },
  task_preferred_node: {
    id: "task_preferred_node",
    title: "Threads: which node they prefer",
    explain: "Each row is a thread, each column a moment; the colour is the node that most of its hinting faults point to.",
  },
};

const SHARE: MapKind = {
  id: "share",
  title: "Memory: share of each process on each node",
  explain:
    "Each row is one process on one node, each column a moment; the stronger the colour, the larger the part of the process's memory " +
    "there. One strong row among faint ones means its memory is gathered; rows of equal strength mean it is spread.",
};

/** Kinds of maps that at least one run of a workload has, with pages first. */
export function kinds(w: Workload): MapKind[] {
  const named = Object.values(NODES).filter((k) => w.runs.some((r) => r.maps.some((m) => m.name === k.id)));
  const share = w.runs.some((r) => r.memory) ? [SHARE] : [];
  const pages = named.filter((k) => k.id === "page_node");
  return [...pages, ...share, ...named.filter((k) => k.id !== "page_node")];
}

/** The map of a run; null if the run has none of this kind. */
export function specOf(kind: MapKind, title: string, run: Run, step: number): MapSpec | null {
  const map = run.maps.find((m) => m.name === kind.id);
  const cells = kind.id === SHARE.id ? run.memory && shares(run.memory.processes) : map && nodes(map);
  return cells ? { ...cells, title, end: endOf(run, cells.columns, step) } : null;
}

/** The contents of a map, without its title and its end. */
type Cells = Omit<MapSpec, "title" | "end">;

function rgb(color: string): [number, number, number] {
  const g = el("canvas", { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  if (!g) return [128, 128, 128];
  g.fillStyle = color;
  g.fillRect(0, 0, 1, 1);
  const [r = 0, gr = 0, b = 0] = g.getImageData(0, 0, 1, 1).data;
  return [r, gr, b];
}

function colors(): (node: number) => [number, number, number] {
  const known = new Map<number, [number, number, number]>();
  return (node) => {
    let color = known.get(node);
    if (!color) {
      color = rgb(nodeColor(node));
      known.set(node, color);
    }
    return color;
  };
}

function nodes(map: NodeMap): Cells {
  const color = colors();
  const at = (row: number, column: number) => nodeOf(map.cells[row]?.[column] ?? ".");
  const pages = map.name === "page_node";
  return {
    rows: map.rows,
    short: map.rows.map(pages ? offset : (row) => row),
    rowTitle: pages ? "process / mapping, from its start" : "process / thread",
    groups: pages ? groups(map.rows.map(mapping)) : groups(map.rows.map(owner)).map(({ first }) => ({ first, name: "" })),
    columns: Math.max(0, ...map.cells.map((c) => [...c].length)),
    color: (row, column) => {
      const node = at(row, column);
      return node < 0 ? null : color(node);
    },
    say: (row, column) => {
      const node = at(row, column);
      return node < 0 ? "on no node" : `node ${node}`;
    },
  };
}

/** Process of a row, from a name like `main.0/heap+2MiB`. */
function owner(row: string): string {
  return row.split("/")[0] ?? row;
}

/** Process and mapping of a row: `main.0/heap` of `main.0/heap+2MiB … main.0/heap+6MiB`. */
function mapping(row: string): string {
  return (row.split(" … ")[0] ?? row).replace(/\+[^+/]*$/, "");
}

/** Where a row begins in its mapping: `+2MiB`; nothing at its start. */
function offset(row: string): string {
  const at = /\+(\d[^+/]*)$/.exec(row.split(" … ")[0] ?? "")?.[1];
  return at === undefined || /^0\D/.test(at) ? "" : `+${at}`;
}

/** First row and name of each group. */
function groups(names: string[]): { first: number; name: string }[] {
  return names.flatMap((name, first) => (first === 0 || name !== names[first - 1] ? [{ first, name }] : []));
}

function shares(processes: Process[]): Cells {
  const color = colors();
  const empty = rgb(variable("--empty"));
  const rows = processes.flatMap((p) => p.nodes.map((values, node) => ({ process: p, node, values })));
  const share = (row: number, column: number): number | null => {
    const r = rows[row];
    const here = r?.values[column];
    if (!r || here === null || here === undefined) return null;
    const all = r.process.nodes.reduce((total, n) => total + (n[column] ?? 0), 0);
    return all > 0 ? here / all : null;
  };
  return {
    rows: rows.map((r) => `${r.process.name} on node ${r.node}`),
    short: rows.map((r) => `node ${r.node}`),
    rowTitle: "process, on each node",
    groups: groups(rows.map((r) => r.process.name)),
    columns: Math.max(0, ...rows.map((r) => r.values.length)),
    color: (row, column) => {
      const s = share(row, column);
      const node = rows[row]?.node;
      if (s === null || node === undefined) return null;
      const [r, g, b] = color(node);
      const mix = (from: number, to: number) => Math.round(from + (to - from) * s);
      return [mix(empty[0], r), mix(empty[1], g), mix(empty[2], b)];
    },
    say: (row, column) => {
      const s = share(row, column);
      return s === null ? "no memory yet" : `${(100 * s).toFixed(1)} % of its memory`;
    },
  };
}

/** The legend: colours and their meaning. `ended` tells that a run ends before the axis does. */
export function legend(kind: MapKind, nodeCount: number, ended: boolean): HTMLElement {
  const list = el("ul", { class: "maplegend", "aria-label": "Legend" });
  const item = (style: string, text: string) => {
    const box = el("i", { class: "swatch" });
    box.style.background = style;
    list.append(el("li", {}, box, text));
  };
  const shown = Math.min(nodeCount, 32);
  if (kind.id === SHARE.id) {
    const full = nodeColor(0);
    for (const percent of [0, 25, 50, 100]) {
      item(`color-mix(in srgb, ${full} ${percent}%, ${variable("--empty")})`, `${percent} %`);
    }
    for (let n = 0; n < shown; n++) item(nodeColor(n), `all on node ${n}`);
  } else {
    for (let n = 0; n < shown; n++) item(nodeColor(n), `node ${n}`);
    item(variable("--empty"), kind.id === "page_node" ? "not touched yet, or freed" : "none, or not running");
  }
  if (ended) list.append(el("li", {}, el("i", { class: "swatch ended" }), "after the end of the run"));
  if (shown < nodeCount) list.append(el("li", {}, `and so on up to node ${nodeCount - 1}`));
  return list;
}

/** Number of nodes that a workload's runs mention. */
export function nodeCount(w: Workload): number {
  let count = 1;
  for (const run of w.runs) {
    for (const p of run.memory?.processes ?? []) count = Math.max(count, p.nodes.length);
    for (const m of run.maps) {
      for (const row of m.cells) for (const cell of new Set(row)) count = Math.max(count, nodeOf(cell) + 1);
    }
  }
  return count;
}
