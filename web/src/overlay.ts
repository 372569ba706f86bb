// Charts of several quantities: each has a chart of its own, in which the lines of all kernels lie over each other. With a single
// kernel, all quantities are lines of one chart. Charts that show nothing are folded away.

import type { ChartLine, ChartSpec } from "./chart";
import { nothingToSee, peak, type Value } from "./data";
import { el } from "./dom";

/** Most charts that are shown at once. */
const MAX_CHARTS = 8;

/** A quantity with the lines of the kernels. */
export interface Quantity {
  title: string;
  unit: string;
  lines: ChartLine[];
  /** Colour of a mark before the title. */
  mark?: string;
  /** Fixed top of the vertical axis. */
  top?: number;
  memory?: boolean;
}

/** Draws a chart. */
export type Draw = (spec: ChartSpec) => HTMLElement;

const values = (q: Quantity): Value[][] => q.lines.map((l) => l.values);

/** A chart whose lines stay below this part of the highest one beside it shows next to nothing. */
const NEXT_TO_NOTHING = 0.01;

/** How the charts of a group go together. */
export interface Together {
  /** They have one unit and one kind, so that low ones can be folded. */
  comparable: boolean;
  /** All axes have the same top. */
  common: boolean;
}

/** Charts in a grid, followed by the folded ones. */
export function overlay(quantities: Quantity[], draw: Draw, { comparable, common }: Together): HTMLElement[] {
  const highest = peak(quantities.flatMap(values));
  const top = highest * 1.05 || 1;
  const low = (q: Quantity) => (comparable && peak(values(q)) < highest * NEXT_TO_NOTHING ? "below 1 % of the others" : null);
  const judged = quantities.map((q) => ({ q: common ? { ...q, top } : q, why: nothingToSee(values(q)) ?? low(q) }));
  const telling = judged.filter((j) => j.why === null);
  // The charts with the highest lines are shown, in the given order.
  const high = [...telling].sort((a, b) => peak(values(b.q)) - peak(values(a.q))).slice(0, MAX_CHARTS);
  const shown = telling.filter((j) => high.includes(j));
  const lower = telling.filter((j) => !high.includes(j)).map((j) => ({ ...j, why: "lower" }));
  const out: HTMLElement[] = [];
  if (shown.length > 0) out.push(grid(shown.map((j) => draw(j.q))));
  const nothing = judged.filter((j) => j.why !== null);
  return [...out, ...folded(lower.length === 1 ? "more chart" : "more charts", lower, draw), ...folded(nothing.length === 1 ? "chart that shows no change" : "charts that show no change", nothing, draw)];
}

function grid(charts: HTMLElement[]): HTMLElement {
  return el("div", { class: charts.length < 3 ? "grid" : "grid small" }, ...charts);
}

/** Most charts that the summary of folded ones names. */
const MAX_NAMED = 6;

function folded(what: string, list: { q: Quantity; why: string | null }[], draw: Draw): HTMLElement[] {
  if (list.length === 0) return [];
  const names = list.slice(0, MAX_NAMED).map((j) => `${j.q.title} (${j.why})`);
  const text = `${list.length} ${what}: ${names.join(", ")}${list.length > MAX_NAMED ? ", …" : ""}`;
  return [el("details", { class: "more quiet" }, el("summary", {}, text), grid(list.map((j) => draw(j.q))))];
}
