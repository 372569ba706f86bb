// The lines below the picture: memory by node over time as stacked areas, and hint faults as bars, one row for each side.

import { colors, nodeColor } from "./colors.js";
import { short, time } from "./format.js";

const ROW = 58;
const AXIS = 16;

export class Timeline {
  #canvas;

  constructor(canvas) {
    this.#canvas = canvas;
  }

  /** Draws the sides up to `end`, with a line at `t`. */
  draw(sides, names, t, end) {
    const box = this.#canvas.parentElement;
    const width = box.clientWidth;
    const height = sides.length * (ROW + 6) + AXIS;
    const zoom = box.getBoundingClientRect().width / width || 1;
    const ratio = Math.min(3, (devicePixelRatio || 1) * zoom);
    if (this.#canvas.width !== Math.round(width * ratio) || this.#canvas.height !== Math.round(height * ratio)) {
      this.#canvas.width = Math.round(width * ratio);
      this.#canvas.height = Math.round(height * ratio);
      this.#canvas.style.height = `${height}px`;
    }
    const c = this.#canvas.getContext("2d");
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    const k = colors();
    const span = Math.max(end, 1);
    const x = (ns) => (ns / span) * width;
    sides.forEach((side, i) => this.#row(c, side, names[i], i * (ROW + 6), width, x));
    c.strokeStyle = k.ink;
    c.lineWidth = 1.5;
    c.beginPath();
    c.moveTo(Math.min(width - 1, Math.max(1, x(t))), 0);
    c.lineTo(Math.min(width - 1, Math.max(1, x(t))), height - AXIS);
    c.stroke();
    c.font = "11px system-ui, sans-serif";
    c.fillStyle = k.muted;
    c.textBaseline = "alphabetic";
    for (const [part, align] of [[0, "left"], [0.5, "center"], [1, "right"]]) {
      c.textAlign = align;
      c.fillText(time(part * span, span), part * width, height - 3);
    }
  }

  #row(c, side, name, top, width, x) {
    const k = colors();
    c.fillStyle = k.empty;
    c.fillRect(0, top, width, ROW);
    const list = side.frames.list;
    if (list.length < 2) return this.#name(c, name, "", top);
    const every = Math.max(1, Math.floor(list.length / Math.max(100, width)));
    const at = list.filter((_, i) => i % every === 0 || i === list.length - 1);
    const most = Math.max(1, ...at.map((f) => f.onNode.reduce((a, b) => a + b, 0)));
    const nodes = at[0].onNode.length;
    const base = new Float64Array(at.length);
    for (let node = 0; node < nodes; node++) {
      c.fillStyle = nodeColor(node);
      c.beginPath();
      const y = (v) => top + ROW - (v / most) * (ROW - 16);
      at.forEach((f, i) => c.lineTo(x(f.t), y(base[i] + f.onNode[node])));
      for (let i = at.length - 1; i >= 0; i--) c.lineTo(x(at[i].t), y(base[i]));
      c.fill();
      at.forEach((f, i) => (base[i] += f.onNode[node]));
    }
    // Faults in each stretch of three px, as bars that hang from the top of the row.
    const bins = new Float64Array(Math.ceil(width / 3) + 1);
    for (let i = 1; i < list.length; i++) {
      const bin = Math.floor(x(list[i].t) / 3);
      if (bin >= 0 && bin < bins.length) bins[bin] += list[i].counts[0] - list[i - 1].counts[0];
    }
    const peak = Math.max(...bins);
    c.fillStyle = k.ink;
    if (peak > 0) bins.forEach((n, b) => n > 0 && c.fillRect(b * 3, top, 2, Math.max(1.5, 15 * Math.sqrt(n / peak))));
    this.#name(c, name, `${short(list[list.length - 1].counts[0])} hint faults`, top);
  }

  #name(c, name, more, top) {
    const k = colors();
    c.font = "600 11.5px system-ui, sans-serif";
    c.textAlign = "left";
    c.textBaseline = "middle";
    const text = more ? `${name} · ${more}` : name;
    const w = c.measureText(text).width + 12;
    c.fillStyle = k.surface;
    c.globalAlpha = 0.9;
    c.fillRect(4, top + ROW - 20, w, 16);
    c.globalAlpha = 1;
    c.fillStyle = k.ink;
    c.fillText(text, 10, top + ROW - 11.5);
  }
}
