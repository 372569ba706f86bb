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
const MAX_HEIGHT = 420;
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
  /** Short labels beside the map, where there is room for them; none if rows have no short names. */
  short: string[];
  /** What a row is, written beside the map if rows have no labels. */
  rowTitle: string;
  /** First row and name of groups: divided by lines, named inside. */
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

  constructor(
    private readonly spec: MapSpec,
    private readonly rows: Rows,
    private readonly timeline: Timeline,
  ) {
    this.height = Math.min(Math.max(spec.rows.length * 14 + AXIS + TOP, MIN_HEIGHT), MAX_HEIGHT);
    this.canvas = el("canvas", {
      tabindex: 0,
      role: "application",
      "aria-label": `Map: ${spec.title}, ${spec.rows.length} rows. Arrow keys move the cursor, plus and minus zoom, 0 shows everything.`,
    });
    this.canvas.style.height = `${this.height}px`;
    this.readout = el("p", { class: "readout", "aria-live": "polite" });
    this.element = el("figure", { class: "map" }, el("figcaption", {}, el("b", {}, spec.title)), this.canvas, this.readout);
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
    return { width: Math.max(this.canvas.clientWidth - LEFT - RIGHT, 1), height: this.height - AXIS - TOP };
  }

  private timeAt(x: number): number {
    const [a, b] = this.timeline.view;
    return a + ((x - LEFT) / this.area().width) * (b - a);
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
    const inside = x >= LEFT && x <= LEFT + width && y >= TOP && y <= TOP + height;
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
    const area = this.area();
    const [t0, t1] = this.timeline.view;
    const [r0, r1] = this.rows.view;
    const x = (t: number) => LEFT + ((Math.min(Math.max(t, t0), t1) - t0) / (t1 - t0)) * area.width;
    const end = x(this.spec.end);
    g.fillStyle = variable("--empty");
    g.fillRect(LEFT, TOP, end - LEFT, area.height);
    g.imageSmoothingEnabled = false;
    // Source and target are cut to what is in view; the last column has a width of its own.
    const last = this.spec.columns - 1;
    const edge = last * this.timeline.step;
    const [c0, c1] = [t0 / this.timeline.step, Math.min(t1 / this.timeline.step, last)];
    if (c1 > c0) g.drawImage(this.image, c0, r0, c1 - c0, r1 - r0, LEFT, TOP, x(edge) - LEFT, area.height);
    if (end > x(edge)) g.drawImage(this.image, last, r0, 1, r1 - r0, x(edge), TOP, end - x(edge), area.height);
    this.after(g, end, area);
    this.frame(g, area);
    this.cursor(g, area);
    this.say();
  }

  /** Hatches the time after the end of the run, when it had neither memory nor threads. */
  private after(g: CanvasRenderingContext2D, from: number, area: { width: number; height: number }): void {
    const to = LEFT + area.width;
    if (to - from < 1) return;
    g.save();
    g.beginPath();
    g.rect(from, TOP, to - from, area.height);
    g.clip();
    g.strokeStyle = variable("--hatch");
    g.lineWidth = 1;
    g.beginPath();
    for (let x = LEFT - area.height; x < to; x += HATCH) {
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
    g.fillStyle = variable("--muted");
    g.textAlign = "center";
    g.textBaseline = "middle";
    if (this.spec.short.length === 0) {
      g.save();
      g.translate(LEFT - 12, TOP + area.height / 2);
      g.rotate(-Math.PI / 2);
      g.fillText(this.spec.rowTitle, 0, 0, area.height);
      g.restore();
    }
    g.textAlign = "right";
    const every = Math.max(1, Math.ceil(13 / perRow));
    for (let r = Math.ceil(r0); r < r1; r++) {
      const middle = TOP + (r + 0.5 - r0) * perRow;
      if (r % every === 0 && middle < TOP + area.height) g.fillText(this.spec.short[r] ?? "", LEFT - 5, middle, LEFT - 8);
    }
    g.textAlign = "center";
    g.textBaseline = "top";
    const at = ticks(t0, t1, Math.max(2, Math.floor(area.width / 70)));
    const labels = instants(at);
    at.forEach((t, i) => {
      const x = LEFT + ((t - t0) / (t1 - t0)) * area.width;
      g.fillRect(x, TOP + area.height, 1, 4);
      g.fillText(labels[i] ?? "", x, TOP + area.height + 7);
    });
  }

  /** Lines between groups, and their names at the first row in view. */
  private groups(g: CanvasRenderingContext2D, area: { width: number; height: number }, perRow: number): void {
    const [r0, r1] = this.rows.view;
    this.spec.groups.forEach(({ first, name }, i) => {
      const end = this.spec.groups[i + 1]?.first ?? this.spec.rows.length;
      if (end <= r0 || first >= r1) return;
      const y = TOP + (Math.max(first, r0) - r0) * perRow;
      if (first > r0) {
        g.strokeStyle = variable("--surface");
        g.lineWidth = 2;
        g.beginPath();
        g.moveTo(LEFT, y);
        g.lineTo(LEFT + area.width, y);
        g.stroke();
      }
      if (name === "" || (end - Math.max(first, r0)) * perRow < 18) return;
      g.textAlign = "left";
      g.textBaseline = "middle";
      const width = Math.min(g.measureText(name).width, area.width - 16);
      g.globalAlpha = 0.85;
      g.fillStyle = variable("--surface");
      g.fillRect(LEFT + 4, y + 3, width + 8, 15);
      g.globalAlpha = 1;
      g.fillStyle = variable("--ink");
      g.fillText(name, LEFT + 8, y + 11, width);
    });
  }

  private cursor(g: CanvasRenderingContext2D, area: { width: number; height: number }): void {
    const [t0, t1] = this.timeline.view;
    const [r0, r1] = this.rows.view;
    g.strokeStyle = variable("--ink");
    g.lineWidth = 1;
    const t = this.timeline.cursor;
    if (t !== null && t >= t0 && t <= t1) {
      const x = Math.round(LEFT + ((t - t0) / (t1 - t0)) * area.width) + 0.5;
      g.beginPath();
      g.moveTo(x, TOP);
      g.lineTo(x, TOP + area.height);
      g.stroke();
    }
    const row = this.rows.cursor;
    if (row !== null && row + 1 > r0 && row < r1) {
      const perRow = area.height / (r1 - r0);
      g.strokeRect(LEFT + 0.5, TOP + (row - r0) * perRow, area.width - 1, Math.max(perRow, 2));
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
