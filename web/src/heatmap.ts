// Rows over time as colours: which node held something, or how much of it.
//
// The whole map is painted once, one pixel per cell, and drawn scaled; zooming only chooses another part of it. Time is shared
// with the charts, rows are shared by the maps of one kind.

import { LEFT, RIGHT } from "./chart";
import { variable } from "./colors";
import { el } from "./dom";
import { instants, seconds } from "./format";
import type { Timeline } from "./timeline";

const MIN_HEIGHT = 150;
/** Widest room for the names of rows, px, and largest part of the map that it may take. */
const NAMES = 170;
const NAMES_PART = 0.32;
/** Least distance of two names, px. */
const LINE = 13;
const MAX_HEIGHT = 420;
/** On a narrow screen two maps below each other should be seen at once. */
const NARROW = 600;
const MAX_HEIGHT_NARROW = 260;
const AXIS = 24;
const TOP = 6;
const FONT = "11px system-ui, sans-serif";
/** Rows shown at the closest zoom. */
const MIN_ROWS = 4;
/** Between the lines that fill the time after a run, px. */
const HATCH = 6;

export interface MapSpec {
  title: string;
  /** Label of each row. */
  rows: string[];
  /** Short labels beside the map, where there is room for them. */
  short: string[];
  /** What the names of rows say, such as "process / thread". */
  rowTitle: string;
  /** First row and name of groups, which are divided by lines. Their names stand beside the map, before all labels. */
  groups: { first: number; name: string }[];
  columns: number;
  /** Where the last column ends, s; the others are all as wide as a point. */
  end: number;
  /** Colour of a cell as red, green, blue; null leaves it empty. */
  color(row: number, column: number): [number, number, number] | null;
  /** What a cell says. */
  say(row: number, column: number): string;
}

/** The rows in view and under the cursor, common to maps beside each other. */
export class Rows {
  view: [number, number];
  cursor: number | null = null;
  private listeners: (() => void)[] = [];

  constructor(readonly count: number) {
    this.view = [0, count];
  }
  listen(f: () => void): void {
    this.listeners.push(f);
  }
  set(from: number, to: number): void {
    const height = Math.min(Math.max(to - from, MIN_ROWS), this.count);
    const start = Math.min(Math.max(from, 0), this.count - height);
    this.view = [start, start + height];
    this.notify();
  }
  zoom(factor: number): void {
    const [a, b] = this.view;
    const around = this.cursor === null ? (a + b) / 2 : this.cursor + 0.5;
    this.set(around - (around - a) * factor, around + (b - around) * factor);
  }
  move(by: number): void {
    const at = Math.min(Math.max((this.cursor ?? (by > 0 ? -1 : this.count)) + by, 0), this.count - 1);
    this.cursor = at;
    const [a, b] = this.view;
    if (at < a) this.view = [at, at + (b - a)];
    if (at + 1 > b) this.view = [at + 1 - (b - a), at + 1];
    this.notify();
  }
  point(row: number | null): void {
    if (row === this.cursor) return;
    this.cursor = row;
    this.notify();
  }
  private notify(): void {
    for (const f of this.listeners) f();
  }
}

export class Heatmap {
  readonly element: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly readout: HTMLElement;
  private readonly image: HTMLCanvasElement;
  private readonly height: number;
  private readonly observer: ResizeObserver;
  private drag: { x: number; y: number; to: { x: number; y: number } } | null = null;
  private pending = false;
  /** Room for the names of rows, px. */
  private left = LEFT;

  constructor(
    private readonly spec: MapSpec,
    private readonly rows: Rows,
    private readonly timeline: Timeline,
  ) {
    this.height = Math.min(Math.max(spec.rows.length * 14 + AXIS + TOP, MIN_HEIGHT), innerWidth < NARROW ? MAX_HEIGHT_NARROW : MAX_HEIGHT);
    this.canvas = el("canvas", {
      tabindex: 0,
      role: "application",
      "aria-label": `Map: ${spec.title}, ${spec.rows.length} rows. Arrow keys move the cursor, plus and minus zoom, 0 shows everything.`,
    });
    this.canvas.style.height = `${this.height}px`;
    this.readout = el("p", { class: "readout", "aria-live": "polite" });
    this.element = el("figure", { class: "map" }, el("figcaption", {}, el("b", {}, spec.title), ` rows: ${spec.rowTitle}`), this.canvas, this.readout);
    this.image = this.paint();
    this.listen();
    timeline.listen(() => this.schedule());
    rows.listen(() => this.schedule());
    this.observer = new ResizeObserver(() => this.schedule());
    this.observer.observe(this.canvas);
  }

  destroy(): void {
    this.observer.disconnect();
  }

  /** The whole map, one pixel per cell. */
  private paint(): HTMLCanvasElement {
    const { columns, rows } = this.spec;
    const image = el("canvas", { width: Math.max(columns, 1), height: Math.max(rows.length, 1) });
    const context = image.getContext("2d");
    if (!context) return image;
    const pixels = context.createImageData(image.width, image.height);
    for (let r = 0; r < rows.length; r++) {
      for (let c = 0; c < columns; c++) {
        const color = this.spec.color(r, c);
        if (color) pixels.data.set([...color, 255], 4 * (r * image.width + c));
      }
    }
    context.putImageData(pixels, 0, 0);
    return image;
  }

  /** Width and height of the part of the canvas that shows cells, px. */
  private area(): { width: number; height: number } {
    return { width: Math.max(this.canvas.clientWidth - this.left - RIGHT, 1), height: this.height - AXIS - TOP };
  }

  private timeAt(x: number): number {
    const [a, b] = this.timeline.view;
    return a + ((x - this.left) / this.area().width) * (b - a);
  }

  private rowAt(y: number): number {
    const [a, b] = this.rows.view;
    return a + ((y - TOP) / this.area().height) * (b - a);
  }

  private listen(): void {
    const at = (e: PointerEvent) => ({ x: e.offsetX, y: e.offsetY });
    const canvas = this.canvas;
    canvas.addEventListener("pointermove", (e) => {
      const p = at(e);
      if (this.drag) this.drag.to = p;
      this.point(p.x, p.y);
    });
    canvas.addEventListener("pointerdown", (e) => {
      this.point(e.offsetX, e.offsetY);
      // A finger scrolls the page; it zooms with the buttons.
      if (e.pointerType === "touch") return;
      canvas.setPointerCapture(e.pointerId);
      this.drag = { ...at(e), to: at(e) };
    });
    canvas.addEventListener("pointerup", () => this.select());
    canvas.addEventListener("pointercancel", () => (this.drag = null));
    canvas.addEventListener("pointerleave", () => {
      if (this.drag) return;
      this.timeline.setCursor(null);
      this.rows.point(null);
    });
    canvas.addEventListener("dblclick", () => this.reset());
    canvas.addEventListener("keydown", (e) => this.key(e));
    canvas.addEventListener(
      "wheel",
      (e) => {
        // Without a key the wheel scrolls the page.
        if (!e.ctrlKey) return;
        e.preventDefault();
        this.zoom(e.deltaY > 0 ? 1.25 : 0.8);
      },
      { passive: false },
    );
  }

  private point(x: number, y: number): void {
    const { width, height } = this.area();
    const inside = x >= this.left && x <= this.left + width && y >= TOP && y <= TOP + height;
    this.rows.point(inside ? Math.min(Math.floor(this.rowAt(y)), this.rows.count - 1) : null);
    this.timeline.setCursor(inside ? this.timeAt(x) : null);
    if (this.drag) this.schedule();
  }

  /** Ends a drag: a stretch of time, and of rows if it was tall. */
  private select(): void {
    const drag = this.drag;
    this.drag = null;
    if (!drag) return;
    const [x0, x1] = [Math.min(drag.x, drag.to.x), Math.max(drag.x, drag.to.x)];
    const [y0, y1] = [Math.min(drag.y, drag.to.y), Math.max(drag.y, drag.to.y)];
    if (x1 - x0 < 5 && y1 - y0 < 5) return this.schedule();
    const from = this.timeAt(x0);
    const to = this.timeAt(x1);
    if (y1 - y0 > 16) this.rows.set(this.rowAt(y0), this.rowAt(y1));
    if (x1 - x0 > 5) this.timeline.setView(from, to);
    this.schedule();
  }

  private zoom(factor: number): void {
    this.timeline.zoom(factor);
    this.rows.zoom(factor);
  }

  reset(): void {
    this.rows.set(0, this.rows.count);
    this.timeline.reset();
  }

  private key(e: KeyboardEvent): void {
    if (e.key === "ArrowUp" || e.key === "ArrowDown") {
      e.preventDefault();
      this.rows.move((e.key === "ArrowUp" ? -1 : 1) * (e.shiftKey ? 10 : 1));
      return;
    }
    if (!this.timeline.key(e)) return;
    if (e.key === "+" || e.key === "=") this.rows.zoom(0.5);
    if (e.key === "-") this.rows.zoom(2);
    if (e.key === "0") this.rows.set(0, this.rows.count);
  }

  private schedule(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.draw();
    });
  }

  /** Draws at the width of its place. */
  resize(): void {
    this.draw();
  }

  private draw(): void {
    const width = this.canvas.clientWidth;
    if (width === 0) return;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    const g = this.canvas.getContext("2d");
    if (!g) return;
    g.scale(ratio, ratio);
    g.font = FONT;
    this.left = this.roomForNames(g, width);
    this.canvas.dataset["left"] = String(this.left);
    const area = this.area();
    const [t0, t1] = this.timeline.view;
    const [r0, r1] = this.rows.view;
    const x = (t: number) => this.left + ((Math.min(Math.max(t, t0), t1) - t0) / (t1 - t0)) * area.width;
    const end = x(this.spec.end);
    g.fillStyle = variable("--empty");
    g.fillRect(this.left, TOP, end - this.left, area.height);
    g.imageSmoothingEnabled = false;
    // Source and target are cut to what is in view; the last column has a width of its own.
    const last = this.spec.columns - 1;
    const edge = last * this.timeline.step;
    const [c0, c1] = [t0 / this.timeline.step, Math.min(t1 / this.timeline.step, last)];
    if (c1 > c0) g.drawImage(this.image, c0, r0, c1 - c0, r1 - r0, this.left, TOP, x(edge) - this.left, area.height);
    if (end > x(edge)) g.drawImage(this.image, last, r0, 1, r1 - r0, x(edge), TOP, end - x(edge), area.height);
    this.after(g, end, area);
    this.frame(g, area);
    this.cursor(g, area);
    this.say();
  }

  /** Hatches the time after the end of the run, when it had neither memory nor threads. */
  private after(g: CanvasRenderingContext2D, from: number, area: { width: number; height: number }): void {
    const to = this.left + area.width;
    if (to - from < 1) return;
    g.save();
    g.beginPath();
    g.rect(from, TOP, to - from, area.height);
    g.clip();
    g.strokeStyle = variable("--hatch");
    g.lineWidth = 1;
    g.beginPath();
    for (let x = this.left - area.height; x < to; x += HATCH) {
      g.moveTo(x, TOP + area.height);
      g.lineTo(x + area.height, TOP);
    }
    g.stroke();
    g.restore();
  }

  /** Axes, labels of rows and lines between groups. */
  private frame(g: CanvasRenderingContext2D, area: { width: number; height: number }): void {
    const [t0, t1] = this.timeline.view;
    const [r0, r1] = this.rows.view;
    const perRow = area.height / (r1 - r0);
    this.groups(g, area, perRow);
    this.names(g, area, perRow);
    g.fillStyle = variable("--muted");
    g.textAlign = "center";
    g.textBaseline = "top";
    const at = ticks(t0, t1, Math.max(2, Math.floor(area.width / 70)));
    const labels = instants(at);
    at.forEach((t, i) => {
      const x = this.left + ((t - t0) / (t1 - t0)) * area.width;
      g.fillRect(x, TOP + area.height, 1, 4);
      g.fillText(labels[i] ?? "", x, TOP + area.height + 7);
    });
  }

  /** Room for the names of rows: that of the longest, but only a part of the map. */
  private roomForNames(g: CanvasRenderingContext2D, width: number): number {
    const names = [...this.spec.groups.map((x) => x.name), ...this.spec.short];
    const longest = Math.max(0, ...names.map((name) => g.measureText(name).width));
    return Math.round(Math.min(Math.max(longest + 12, LEFT), NAMES, Math.max(width * NAMES_PART, LEFT)));
  }

  /** Lines between groups. */
  private groups(g: CanvasRenderingContext2D, area: { width: number; height: number }, perRow: number): void {
    const [r0, r1] = this.rows.view;
    g.strokeStyle = variable("--surface");
    g.lineWidth = perRow * (r1 - r0) > 4 * this.spec.groups.length ? 2 : 0.5;
    g.beginPath();
    for (const { first } of this.spec.groups) {
      if (first <= r0 || first >= r1) continue;
      const y = TOP + (first - r0) * perRow;
      g.moveTo(this.left, y);
      g.lineTo(this.left + area.width, y);
    }
    g.stroke();
  }

  /** Names of groups and rows beside the map. A name that has no room is left out, a row's before a group's. */
  private names(g: CanvasRenderingContext2D, area: { width: number; height: number }, perRow: number): void {
    const [r0, r1] = this.rows.view;
    const taken: number[] = [];
    const write = (y: number, text: string, color: string) => {
      const at = Math.min(Math.max(y, TOP + LINE / 2), TOP + area.height - LINE / 2);
      if (text === "" || taken.some((other) => Math.abs(other - at) < LINE)) return;
      taken.push(at);
      g.fillStyle = color;
      g.fillText(fitted(g, text, this.left - 8), this.left - 5, at);
    };
    g.textAlign = "right";
    g.textBaseline = "middle";
    const middle = (row: number) => TOP + (row + 0.5 - r0) * perRow;
    this.spec.groups.forEach(({ first, name }, i) => {
      const end = this.spec.groups[i + 1]?.first ?? this.spec.rows.length;
      if (end > r0 && first < r1) write(middle(Math.max(first, r0)), name, variable("--ink"));
    });
    const every = Math.max(1, Math.ceil((2 * LINE) / perRow));
    for (let r = Math.ceil(r0); r < r1 && r < this.spec.short.length; r++) {
      if (r % every === 0 || perRow >= LINE) write(middle(r), this.spec.short[r] ?? "", variable("--muted"));
    }
  }

  private cursor(g: CanvasRenderingContext2D, area: { width: number; height: number }): void {
    const [t0, t1] = this.timeline.view;
    const [r0, r1] = this.rows.view;
    g.strokeStyle = variable("--ink");
    g.lineWidth = 1;
    const t = this.timeline.cursor;
    if (t !== null && t >= t0 && t <= t1) {
      const x = Math.round(this.left + ((t - t0) / (t1 - t0)) * area.width) + 0.5;
      g.beginPath();
      g.moveTo(x, TOP);
      g.lineTo(x, TOP + area.height);
      g.stroke();
    }
    const row = this.rows.cursor;
    if (row !== null && row + 1 > r0 && row < r1) {
      const perRow = area.height / (r1 - r0);
      g.strokeRect(this.left + 0.5, TOP + (row - r0) * perRow, area.width - 1, Math.max(perRow, 2));
    }
    if (this.drag) {
      const { x, y, to } = this.drag;
      const tall = Math.abs(to.y - y) > 16;
      g.globalAlpha = 0.25;
      g.fillStyle = variable("--ink");
      g.fillRect(Math.min(x, to.x), tall ? Math.min(y, to.y) : TOP, Math.abs(to.x - x), tall ? Math.abs(to.y - y) : area.height);
      g.globalAlpha = 1;
    }
  }

  /** What is under the cursor, in words. */
  private say(): void {
    const row = this.rows.cursor;
    const t = this.timeline.cursor;
    const column = this.timeline.index(this.spec.columns, this.spec.end);
    const known = row !== null && t !== null && row < this.spec.rows.length;
    const what = () => (row === null || column === null ? "after the end of this run" : this.spec.say(row, column));
    const text = known ? `${seconds(t)} · ${this.spec.rows[row]} · ${what()}` : "";
    if (this.readout.textContent !== text) this.readout.textContent = text;
  }
}

/** A text that is at most so wide, cut in the middle. */
function fitted(g: CanvasRenderingContext2D, text: string, width: number): string {
  if (g.measureText(text).width <= width) return text;
  let keep = text.length - 1;
  const cut = () => `${text.slice(0, Math.ceil(keep / 2))}…${text.slice(text.length - Math.floor(keep / 2))}`;
  while (keep > 1 && g.measureText(cut()).width > width) keep--;
  return cut();
}

/** Round instants in a stretch, at most `count` of them. */
export function ticks(from: number, to: number, count: number): number[] {
  const rough = (to - from) / Math.max(count, 1);
  if (!(rough > 0)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? 10 * power;
  const out: number[] = [];
  for (let k = Math.ceil(from / step); k * step <= to + step * 1e-9; k++) out.push(k * step);
  return out;
}
