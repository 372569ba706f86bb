// The data that the page embeds, with the same types as crates/report/src/html/chart_data.rs.

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
  points: number;
  /** When it ended, s. */
  end: number;
  rates: Line[];
  /** `once[node][point]` is the memory of all processes, MiB, with what they share counted once; absent if nobody knows. */
  memory?: { processes: Process[]; once?: Value[][] };
  groups: Group[];
  maps: NodeMap[];
}

export interface Workload {
  name: string;
  /** Width of a point, s. */
  step: number;
  points: number;
  /** End of the longest run, s. */
  end: number;
  left_out: number;
  runs: Run[];
}

export interface Data {
  kernels: string[];
  baseline: number;
  workloads: Workload[];
  /** The maps at the top of the page. */
  picture?: { workload: string; kernels: number[] };
}

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** The node a character of a map stands for, -1 for none. */
export function nodeOf(cell: string): number {
  const at = ALPHABET.indexOf(cell);
  if (at >= 0) return at;
  const code = cell.charCodeAt(0);
  return code >= 0x400 ? code - 0x400 : -1;
}

/** Reads the embedded data. Throws if there is none, or if it is not JSON. */
export function read(): Data {
  const text = document.getElementById("data")?.textContent;
  if (!text) throw new Error("there are none");
  return JSON.parse(text) as Data;
}

/** Values over time, one per point. */
export interface Course {
  values: Value[];
  /** Where the last point ends, s; the others are all of one width. */
  end: number;
}

/** Values of a run as a course. It ends with the run, or earlier if the run was not sampled to its end. */
export function course(run: Run, values: Value[], step: number): Course {
  return { values, end: endOf(run, values.length, step) };
}

/** Where the last of a run's points ends, s. */
export function endOf(run: Run, points: number, step: number): number {
  return points < run.points ? points * step : run.end;
}

/**
 * Common instants of courses and the values of each there: a point stands in the middle of what it covers, the first and the
 * last one also at their outer edge. Between its points a course has `undefined`, after its end `null`.
 */
export function aligned(courses: Course[], step: number): { times: number[]; values: (Value | undefined)[][] } {
  const known = courses.map(({ values, end }) => {
    const last = values.length - 1;
    const at = new Map<number, Value>();
    if (last < 0) return at;
    at.set(0, values[0] ?? null);
    values.forEach((v, k) => at.set((k * step + (k === last ? end : (k + 1) * step)) / 2, v));
    at.set(end, values[last] ?? null);
    return at;
  });
  const times = [...new Set(known.flatMap((at) => [...at.keys()]))].sort((a, b) => a - b);
  const values = known.map((at, i) => times.map((t) => at.get(t) ?? (at.has(t) || t > (courses[i]?.end ?? 0) ? null : undefined)));
  return { times, values };
}

/** Sum of lines; null where one of them has no value. */
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

/** Changes below this part of the highest value are not seen in a chart. */
const UNSEEN = 0.005;

/** Why a chart of one quantity, with a line for each kernel, shows nothing; null if it shows something. */
export function nothingToSee(lines: Value[][]): string | null {
  const known = lines.flat().filter((v): v is number => v !== null);
  if (known.length === 0) return "no figures";
  const [low, high] = known.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
  if (low === 0 && high === 0) return "always 0";
  const unseen = UNSEEN * Math.max(Math.abs(low), Math.abs(high));
  if (high - low <= unseen) return "never changes";
  const first = lines[0] ?? [];
  const near = (a: Value | undefined, b: Value | undefined) => a === b || (typeof a === "number" && typeof b === "number" && Math.abs(a - b) <= unseen);
  const same = lines.length > 1 && lines.every((l) => l.length === first.length && l.every((v, k) => near(v, first[k])));
  return same ? "the same under every kernel" : null;
}
