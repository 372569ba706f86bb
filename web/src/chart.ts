// Lines over time, drawn by uPlot, with a legend that reads the values at the shared cursor.

import uPlot from "uplot";
import { swatch, variable } from "./colors";
import { aligned, type Course, type Value } from "./data";
import { el } from "./dom";
import { BINARY_STEPS, human, instants, seconds, sizes, ticks } from "./format";
import type { Timeline } from "./timeline";

/** Room for the labels of the vertical axis, px; maps keep the same, so that instants stand below each other. */
export const LEFT = 52;
/** Half a label of the time axis fits: a tick may stand at the end. */
export const RIGHT = 26;
const HEIGHT = 190;
const FONT = "11px system-ui, sans-serif";

export interface ChartLine extends Course {
  name: string;
  color: string;
  dash: number[];
}

export interface ChartSpec {
  title: string;
  unit: string;
  lines: ChartLine[];
  /** Fixed top of the vertical axis; without one it follows what is in view. */
  top?: number;
  /** Whether the unit is one of memory, which is divided by 1024. */
  memory?: boolean;
  /** Colour of a mark before the title. */
  mark?: string;
}

export class Chart {
  readonly element: HTMLElement;
  private readonly plot: uPlot;
  private readonly values: HTMLElement[] = [];
  private readonly canvas: HTMLElement;
  private readonly spoken: HTMLElement;
  /** True while the chart follows the others, so that it does not lead them. */
  private following = false;
  /** Only the chart under the pointer leads: the hook also runs in others, when a cursor moves with their scale. */
  private hovered = false;
  private readonly observer: ResizeObserver;

  constructor(
    private readonly spec: ChartSpec,
    private readonly timeline: Timeline,
  ) {
    this.canvas = el("div", { class: "plot", tabindex: 0, role: "application", "aria-label": this.label() });
    this.spoken = el("p", { class: "hidden", "aria-live": "polite" });
    this.element = el(
      "figure",
      { class: "chart" },
      this.caption(),
      this.canvas,
      this.legend(),
      this.spoken,
    );
    const { times, values } = aligned(spec.lines, timeline.step);
    this.plot = new uPlot(this.options(values), [times, ...values] as uPlot.AlignedData, this.canvas);
    this.canvas.addEventListener("keydown", (e) => this.timeline.key(e));
    this.plot.over.addEventListener("mouseenter", () => (this.hovered = true));
    this.plot.over.addEventListener("mouseleave", () => {
      this.hovered = false;
      this.timeline.setCursor(null);
    });
    timeline.listen(() => this.follow());
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.canvas);
    this.follow();
  }

  destroy(): void {
    this.observer.disconnect();
    this.plot.destroy();
  }

  private label(): string {
    const names = this.spec.lines.map((l) => l.name).join(", ");
    return `Chart: ${this.spec.title}, ${this.spec.unit}. Lines: ${names}. Arrow keys move the cursor, plus and minus zoom, 0 shows everything.`;
  }

  private caption(): HTMLElement {
    const caption = el("figcaption", {}, el("b", {}, this.spec.title), this.spec.unit ? ` ${this.spec.unit}` : "");
    if (this.spec.mark !== undefined) {
      const mark = el("i", { class: "swatch" });
      mark.style.background = this.spec.mark;
      caption.prepend(mark, " ");
    }
    return caption;
  }

  private legend(): HTMLElement {
    const list = el("ul", { class: "legend" });
    this.spec.lines.forEach((line, i) => {
      const value = el("span", { class: "value" });
      this.values.push(value);
      const button = el("button", { type: "button", "aria-pressed": "true" }, line.name, " ", value);
      button.prepend(swatch(line.color, line.dash));
      button.addEventListener("click", () => {
        const show = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(show));
        this.plot.setSeries(i + 1, { show });
      });
      list.append(el("li", {}, button));
    });
    return list;
  }

  private options(values: (Value | undefined)[][]): uPlot.Options {
    const ink = variable("--muted");
    const grid = { stroke: variable("--line"), width: 1 };
    const axis = { stroke: ink, font: FONT, grid, ticks: { ...grid, size: 4 } };
    return {
      width: 300,
      height: HEIGHT,
      padding: [8, RIGHT, 0, 0],
      legend: { show: false },
      scales: {
        x: { time: false, range: (_, min, max) => [min ?? 0, max ?? this.timeline.end] },
        y: { range: (_, __, max) => [0, this.spec.top ?? (max > 0 ? max * 1.05 : 1)] },
      },
      axes: [
        { ...axis, size: 24, space: 60, values: (_, at) => instants(at) },
        this.spec.memory
          ? { ...axis, size: LEFT, space: 32, incrs: BINARY_STEPS, values: (_, at) => sizes(at) }
          : { ...axis, size: LEFT, space: 32, values: (_, at) => ticks(at) },
      ],
      series: [
        {},
        ...this.spec.lines.map((l, i) => ({
          label: l.name,
          stroke: l.color,
          width: 1.75,
          dash: l.dash,
          // A value between two gaps makes no line.
          points: { show: false, fill: l.color, filter: () => alone(values[i] ?? []) },
        })),
      ],
      cursor: {
        y: false,
        points: { size: 6 },
        drag: { x: true, y: false, setScale: true },
        bind: {
          dblclick: () => () => {
            this.timeline.reset();
            return null;
          },
        },
      },
      hooks: {
        setCursor: [(u) => this.lead(u)],
        setScale: [
          (u, key) => {
            const { min, max } = u.scales[key] ?? {};
            if (key === "x" && !this.following && min != null && max != null) this.timeline.setView(min, max);
          },
        ],
      },
    };
  }

  /** The pointer moved over this chart. */
  private lead(u: uPlot): void {
    const left = u.cursor.left ?? -1;
    if (this.hovered && !this.following && left >= 0) this.timeline.setCursor(u.posToVal(left, "x"));
  }

  /** Cursor or view changed, here or elsewhere. */
  private follow(): void {
    this.following = true;
    const u = this.plot;
    const [from, to] = this.timeline.view;
    const x = u.scales["x"];
    // In a batch the scale is in force at once, and the position below is right.
    if (x?.min !== from || x?.max !== to) u.batch(() => u.setScale("x", { min: from, max: to }));
    const t = this.timeline.cursor;
    const left = t === null || t < from || t > to ? -10 : u.valToPos(t, "x");
    if (u.cursor.left !== left) u.setCursor({ left, top: left < 0 ? -10 : 0 }, false);
    this.spec.lines.forEach((line, i) => {
      const v = this.value(line);
      const cell = this.values[i];
      if (cell) cell.textContent = t === null ? "" : v === null ? "–" : human(v);
    });
    this.following = false;
    // Only the chart that has the keyboard speaks.
    this.spoken.textContent = document.activeElement === this.canvas ? this.reading() : "";
  }

  /** Value of a line at the cursor. */
  private value(line: ChartLine): Value {
    const at = this.timeline.index(line.values.length, line.end);
    return at === null ? null : (line.values[at] ?? null);
  }

  /** What the chart says at the cursor. */
  private reading(): string {
    const t = this.timeline.cursor;
    if (t === null) return "";
    const said = (v: Value) => (v === null ? "none" : human(v));
    const parts = this.spec.lines.map((l) => `${l.name} ${said(this.value(l))}`);
    return `${seconds(t)}: ${parts.join(", ")} ${this.spec.unit}`;
  }

  /** Takes the width of its place. */
  resize(): void {
    const width = Math.floor(this.canvas.clientWidth);
    if (width > 0 && width !== this.plot.width) {
      this.plot.setSize({ width, height: HEIGHT });
      this.follow();
    }
  }
}

/** Indices of values whose neighbours are none. */
function alone(values: (Value | undefined)[]): number[] {
  const own = values.flatMap((v, k) => (v === undefined ? [] : [k]));
  const empty = (i: number) => (values[own[i] ?? -1] ?? null) === null;
  return own.filter((_, i) => !empty(i) && empty(i - 1) && empty(i + 1));
}
