// The section "Over time": choices, charts and maps of one workload and one run of each kernel.

import { Chart, type ChartLine, type ChartSpec } from "./chart";
import { dash, kernelColor, kernelDash, nodeColor, variable } from "./colors";
import { course, type Data, peak, type Run, sum, type Value, type Workload } from "./data";
import { button, choice, el } from "./dom";
import { memoryUnit, seconds } from "./format";
import { Heatmap, Rows } from "./heatmap";
import { kinds, legend, type MapKind, nodeCount, specOf } from "./maps";
import { overlay, type Quantity } from "./overlay";
import { Picture } from "./picture";
import { Timeline } from "./timeline";

/** Counters that are always drawn, with title and unit. */
const ACTIVITY: [string, string, string][] = [
  ["numa_hint_faults", "Hint faults", "per s"],
  ["numa_pte_updates", "PTE updates", "pages per s"],
  ["numa_pages_migrated", "Pages migrated by hint faults", "pages per s"],
];

/** Groups of lines that have their own title and explanation. */
const GROUPS: Record<string, { title: string; explain: string }> = {
  dram_bandwidth: { title: "Bandwidth of each node's memory", explain: "Reads and writes that each node's DRAM served, from whatever node they came." },
  link_bandwidth: { title: "Bandwidth of each link", explain: "Traffic between nodes, by link." },
  cpu_time: { title: "Thread time by kind", explain: "How many threads were in user mode, in the kernel, or blocked on a page under migration." },
};

/** Lines of `cpu_time` that have their own colour. */
const CPU_KINDS = ["user", "system", "blocked"];

/** Top of the axis of local faults, percent: above 100, so that a line at 100 % is visible in full. */
const SHARE_TOP = 104;

/** Charts that have nothing in common but their subject. */
const APART = { comparable: false, common: false };

interface State {
  workload: number;
  run: number;
  process: number;
  counter: number;
  /** The chosen kind of map; null until one is chosen. */
  map: number | null;
}

export class Section {
  private readonly state: State = { workload: 0, run: 0, process: 0, counter: 0, map: null };
  private parts: { destroy(): void; resize(): void }[] = [];
  private timeline = new Timeline(1, 1, 1);

  constructor(
    private readonly host: HTMLElement,
    private readonly data: Data,
  ) {
    this.draw();
  }

  /** Redraws everything, after a change of a choice or of the theme. */
  draw(): void {
    for (const p of this.parts) p.destroy();
    this.parts = [];
    const w = this.data.workloads[this.state.workload];
    if (!w) return;
    const view = this.timeline.view;
    const before = this.timeline;
    this.timeline = new Timeline(w.end, w.step, w.points);
    if (before.end === this.timeline.end) this.timeline.setView(...view);
    const runs = this.runs(w);
    this.host.replaceChildren(
      this.controls(w),
      ...this.memory(w, runs),
      ...this.maps(w, runs),
      ...this.activity(w, runs),
      ...this.groups(w, runs),
    );
    // Drawn at once, and not when the size of their places is reported, since printing does not wait.
    for (const p of this.parts) p.resize();
  }

  /** The chosen run of each kernel that has a run of this number. */
  private runs(w: Workload): Run[] {
    return w.runs.filter((r) => r.run === this.state.run + 1);
  }

  private choose(change: Partial<State>): void {
    Object.assign(this.state, change);
    const focused = document.activeElement?.closest("label")?.dataset["choice"];
    this.draw();
    if (focused) this.host.querySelector<HTMLElement>(`label[data-choice="${focused}"] select`)?.focus();
  }

  private choice(id: string, label: string, options: string[], chosen: number, pick: (i: number) => void): HTMLElement {
    const element = choice(label, options, chosen, pick);
    element.dataset["choice"] = id;
    return element;
  }

  private controls(w: Workload): HTMLElement {
    const bar = el("div", { class: "controls" });
    const names = this.data.workloads.map((x) => x.name);
    if (names.length > 1) {
      bar.append(this.choice("workload", "Workload", names, this.state.workload, (i) => this.choose({ workload: i, run: 0, process: 0, map: null })));
    }
    const most = Math.max(1, ...w.runs.map((r) => r.run));
    if (most > 1) {
      const labels = Array.from({ length: most }, (_, i) => this.runLabel(w, i));
      bar.append(this.choice("run", "Run", labels, this.state.run, (i) => this.choose({ run: i })));
    }
    const time = el("output", { class: "time" });
    const t = this.timeline;
    const show = () => {
      const [a, b] = t.view;
      const whole = b - a >= t.end * 0.999;
      time.textContent = (t.cursor === null ? "" : `cursor ${seconds(t.cursor)}`) + (whole ? "" : `  view ${seconds(a)} – ${seconds(b)}`);
    };
    t.listen(show);
    show();
    bar.append(
      el(
        "span",
        { class: "buttons", role: "group", "aria-label": "Zoom in time" },
        button("+", "Zoom in", () => t.zoom(0.5)),
        button("−", "Zoom out", () => t.zoom(2)),
        button("Whole run", "Show the whole run", () => t.reset()),
      ),
      time,
      el("p", { class: "note" }, `Drag to zoom, double-click for the whole run; with the keyboard: arrows, + and −, 0. One point is ${seconds(w.step)}.`),
    );
    if (w.left_out > 0) bar.append(el("p", { class: "note" }, `${w.left_out} more runs are in the records; they were left out here to keep the page small.`));
    return bar;
  }

  private runLabel(w: Workload, index: number): string {
    const seeds = [...new Set(w.runs.filter((r) => r.run === index + 1).map((r) => r.seed))];
    const of = seeds.length === 1 ? ` (seed ${seeds[0]})` : "";
    return `${index + 1}${of}`;
  }

  private kernel(run: Run): string {
    const name = this.data.kernels[run.kernel] ?? "";
    return run.status === "completed" ? name : `${name} (${run.status})`;
  }

  /** A heading, an explanation, and what they are about; nothing if that is empty. */
  private block(title: string, explain: string, extra: HTMLElement[], content: HTMLElement[]): HTMLElement[] {
    return content.length === 0 ? [] : [el("h3", {}, title), el("p", { class: "note" }, explain), ...extra, ...content];
  }

  private readonly draw1 = (spec: ChartSpec): HTMLElement => {
    const chart = new Chart(spec, this.timeline);
    this.parts.push(chart);
    return chart.element;
  };

  private memory(w: Workload, runs: Run[]): HTMLElement[] {
    const names = [...new Set(w.runs.flatMap((r) => r.memory?.processes.map((p) => p.name) ?? []))];
    if (names.length === 0) return [];
    const chosen = names[this.state.process - 1];
    const held = runs.filter((r) => r.memory).map((run) => ({ run, nodes: memoryOf(run, chosen) }));
    const { unit, by } = memoryUnit(peak(held.flatMap((p) => p.nodes)));
    const scale = (values: Value[]) => values.map((v) => (v === null ? null : v / by));
    const count = Math.max(0, ...held.map((h) => h.nodes.length));
    const nodes = Array.from({ length: count }, (_, n) => held.map((h) => ({ run: h.run, values: scale(h.nodes[n] ?? []) })));
    const quantities = nodes.map((lines, n) => ({ title: `node ${n}`, unit, mark: nodeColor(n), dash: dash(n), marked: true, memory: true, lines }));
    const options = ["all processes together", ...names];
    const pick = this.choice("process", "Process", options, this.state.process, (i) => this.choose({ process: i }));
    const twice = names.length > 1 && chosen === undefined && held.some((h) => h.run.memory?.once === undefined);
    const shared = twice ? " The record does not tell what processes share, so that counts for each of them." : "";
    return this.block(
      "Memory on each node",
      `How much memory of the workload each node held. A line that rises or falls is pages that moved, were allocated or freed.${shared}`,
      names.length > 1 ? [el("div", { class: "controls" }, pick)] : [],
      this.quantities("Memory", quantities, w, true),
    );
  }

  /** Charts of quantities: with one run a line for each, otherwise a chart for each with a line for every kernel. */
  private quantities(title: string, list: RunLines[], w: Workload, common: boolean): HTMLElement[] {
    const [first] = list;
    const runs = new Set(list.flatMap((q) => q.lines.map((l) => l.run)));
    if (runs.size === 1 && first) {
      const lines = list.flatMap((q) => q.lines.map((l) => ({ name: q.title, color: q.mark, dash: q.dash, ...course(l.run, l.values, w.step) })));
      return overlay([{ title, unit: first.unit, lines, memory: first.memory ?? false }], this.draw1, APART);
    }
    const charts = list.map((q) => ({
      title: q.title,
      unit: q.unit,
      ...(q.marked ? { mark: q.mark } : {}),
      memory: q.memory ?? false,
      lines: q.lines.map((l) => this.kernelLine(l.run, l.values, w)),
    }));
    return overlay(charts, this.draw1, { comparable: true, common });
  }

  private kernelLine(run: Run, values: Value[], w: Workload): ChartLine {
    const { baseline } = this.data;
    return { name: this.kernel(run), color: kernelColor(run.kernel, baseline), dash: kernelDash(run.kernel, baseline), ...course(run, values, w.step) };
  }

  private maps(w: Workload, runs: Run[]): HTMLElement[] {
    const all = kinds(w);
    // What stands at the top of the page need not come first here.
    const above = Picture.shows(this.data, w.name, runs.map((r) => r.kernel)) && all.length > 1;
    const kind = all[this.state.map ?? (above ? Math.max(0, all.findIndex((k) => k.id === "task_node")) : 0)] ?? all[0];
    if (!kind) return [];
    const specs = runs.flatMap((r) => specOf(kind, this.kernel(r), r, w.step) ?? []);
    const rows = new Rows(Math.max(1, ...specs.map((s) => s.rows.length)));
    const maps = specs.map((s) => new Heatmap(s, rows, this.timeline));
    this.parts.push(...maps);
    const extra = [...this.mapControls(all, kind, rows, runs), legend(kind, nodeCount(w), specs.some((s) => s.end < w.end))];
    const grid = el("div", { class: "grid" }, ...maps.map((m) => m.element));
    return this.block("Where it was", kind.explain, extra, maps.length > 0 ? [grid] : []);
  }

  private mapControls(all: MapKind[], kind: MapKind, rows: Rows, runs: Run[]): HTMLElement[] {
    const bar = el("div", { class: "controls" });
    if (all.length > 1) {
      const titles = all.map((k) => k.title);
      bar.append(this.choice("map", "Show", titles, all.indexOf(kind), (i) => this.choose({ map: i })));
    }
    bar.append(
      el(
        "span",
        { class: "buttons", role: "group", "aria-label": "Zoom in rows" },
        button("rows +", "Fewer, taller rows", () => rows.zoom(0.5)),
        button("rows −", "More rows", () => rows.zoom(2)),
        button("all rows", "Show all rows", () => rows.set(0, rows.count)),
      ),
    );
    const folds = runs.flatMap((r) => r.maps.filter((m) => m.name === kind.id && m.fold > 1).map((m) => m.fold));
    if (folds.length > 0) bar.append(el("span", { class: "note" }, `One row stands for ${Math.max(...folds)} of the record and shows what most of them show.`));
    return [bar];
  }

  private activity(w: Workload, runs: Run[]): HTMLElement[] {
    const has = (name: string) => runs.some((r) => r.rates.some((l) => l.name === name));
    const lines = (of: (r: Run) => Value[] | undefined) => runs.map((r) => this.kernelLine(r, of(r) ?? [], w));
    const rate = (r: Run, name: string) => r.rates.find((l) => l.name === name)?.values;
    const charts: Quantity[] = [];
    if (has("numa_hint_faults") && has("numa_hint_faults_local")) {
      const share = (r: Run) => localShare(rate(r, "numa_hint_faults_local"), rate(r, "numa_hint_faults"));
      charts.push({ title: "Local-fault share", unit: "% of hint faults", lines: lines(share), top: SHARE_TOP });
    }
    for (const [name, title, unit] of ACTIVITY) {
      if (has(name)) charts.push({ title, unit, lines: lines((r) => rate(r, name)) });
    }
    const known = new Set([...ACTIVITY.map((a) => a[0]), "numa_hint_faults_local"]);
    const others = [...new Set(runs.flatMap((r) => r.rates.map((l) => l.name)))].filter((n) => !known.has(n));
    const extra: HTMLElement[] = [];
    const other = others[this.state.counter] ?? others[0];
    if (other !== undefined) {
      extra.push(el("div", { class: "controls" }, this.choice("counter", "Also show", others, others.indexOf(other), (i) => this.choose({ counter: i }))));
      charts.push({ title: other, unit: "per s", lines: lines((r) => rate(r, other)) });
    }
    return this.block(
      "What NUMA balancing did",
      "Rates over each point, one line per kernel; a gap in the local-fault share is a time without hint faults.",
      extra,
      overlay(charts, this.draw1, APART),
    );
  }

  private groups(w: Workload, runs: Run[]): HTMLElement[] {
    const names = [...new Set(runs.flatMap((r) => r.groups.map((g) => g.name)))];
    return names.flatMap((name) => {
      const of = runs.flatMap((run) => run.groups.filter((g) => g.name === name).map((group) => ({ run, group })));
      const known = GROUPS[name] ?? { title: name, explain: "As it was recorded." };
      const left = Math.max(0, ...of.map((x) => x.group.left_out));
      const note = left > 0 ? [el("p", { class: "note" }, `${left} columns with lower peaks are not drawn.`)] : [];
      const columns = [...new Set(of.flatMap((x) => x.group.lines.map((l) => l.name)))];
      const list = columns.map((column, i) => ({
        ...groupLook(name, column, i),
        unit: of[0]?.group.unit ?? "",
        lines: of.flatMap(({ run, group }) => group.lines.filter((l) => l.name === column).map((l) => ({ run, values: l.values }))),
      }));
      return this.block(known.title, known.explain, note, this.quantities(known.title, list, w, name === "dram_bandwidth"));
    });
  }
}

/** A quantity with a line for each run. */
interface RunLines {
  title: string;
  unit: string;
  /** Colour and dash of the quantity. */
  mark: string;
  dash: number[];
  /** Whether the colour means the same elsewhere, so that its chart shows it. */
  marked: boolean;
  memory?: boolean;
  lines: { run: Run; values: Value[] }[];
}

/** Title, colour and dash of a column of a group. */
function groupLook(group: string, column: string, index: number): { title: string; mark: string; dash: number[]; marked: boolean } {
  const node = /(?:^|\/)node(\d+)$/.exec(column)?.[1];
  const n = node === undefined ? index : Number(node);
  const title = group === "dram_bandwidth" && node !== undefined ? `node ${node}` : column;
  const kind = group === "cpu_time" && CPU_KINDS.includes(column);
  const mark = kind ? variable(`--${column}`) : nodeColor(n);
  return { title, mark, dash: dash(n), marked: kind || node !== undefined };
}

/** Memory on each node, MiB: of a process, or of all, with what they share counted once if that is known. */
export function memoryOf(run: Run, process?: string): Value[][] {
  const { processes = [], once } = run.memory ?? {};
  if (process === undefined && once) return once;
  const of = processes.filter((p) => process === undefined || p.name === process);
  const nodes = Math.max(0, ...of.map((p) => p.nodes.length));
  return Array.from({ length: nodes }, (_, n) => sum(of.map((p) => p.nodes[n] ?? [])));
}

/** Percentage of local hinting faults; null at points without faults. */
export function localShare(local: Value[] | undefined, all: Value[] | undefined): Value[] {
  return (all ?? []).map((a, k) => {
    const l = local?.[k] ?? null;
    return a === null || l === null || a <= 0 ? null : Math.min(100, (100 * l) / a);
  });
}
