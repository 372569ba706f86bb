// What the page embeds; the same types as crates/report/src/html/payload.rs.

export type Value = number | null;

export interface Line {
  name: string;
  values: Value[];
}

export interface Process {
  name: string;
  /** nodes[node][point], MiB. */
  nodes: Value[][];
}

export interface Group {
  name: string;
  unit: string;
  lines: Line[];
  left_out: number;
}

export interface NodeMap {
  name: string;
  rows: string[];
  /** One character per point: the node, or "." for none. */
  cells: string[];
  fold: number;
}

export interface Run {
  kernel: number;
  run: number;
  seed: string;
  status: string;
  rates: Line[];
  memory?: { processes: Process[] };
  groups: Group[];
  maps: NodeMap[];
}

export interface Workload {
  name: string;
  /** Width of a point, s. */
  step: number;
  points: number;
  left_out: number;
  runs: Run[];
}

export interface Data {
  kernels: string[];
  baseline: number;
  workloads: Workload[];
}

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** The node a character of a map stands for, -1 for none. */
export function nodeOf(cell: string): number {
  const at = ALPHABET.indexOf(cell);
  if (at >= 0) return at;
  const code = cell.charCodeAt(0);
  return code >= 0x400 ? code - 0x400 : -1;
}

/** Reads the embedded data; throws if there are none or they were cut off or changed into something that is no JSON. */
export function read(): Data {
  const text = document.getElementById("data")?.textContent;
  if (!text) throw new Error("there are none");
  return JSON.parse(text) as Data;
}

/** Instants of the points: the middle of each. */
export function instants(w: Workload): number[] {
  return Array.from({ length: w.points }, (_, k) => (k + 0.5) * w.step);
}

/** Values of a line over all points: after the end of its run there is nothing. */
export function padded(values: Value[] | undefined, points: number): Value[] {
  return Array.from({ length: points }, (_, k) => values?.[k] ?? null);
}

/** Sum of lines, null where one of them has nothing. */
export function sum(lines: Value[][]): Value[] {
  const length = Math.max(0, ...lines.map((l) => l.length));
  return Array.from({ length }, (_, k) => {
    let total = 0;
    for (const l of lines) {
      const v = l[k];
      if (v === null || v === undefined) return null;
      total += v;
    }
    return total;
  });
}

/** Largest value of lines, at least 0. */
export function peak(lines: Value[][]): number {
  let top = 0;
  for (const l of lines) for (const v of l) if (v !== null && v > top) top = v;
  return top;
}
