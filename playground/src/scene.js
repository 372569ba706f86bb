// The picture of a side on a canvas: nodes, CPUs, threads and memory at an instant, and sparks of what happens.

import { colors, nodeColor, onNode } from "./colors.js";
import { layout } from "./layout.js";
import { Sparks } from "./sparks.js";
import { bytes } from "./format.js";

/** Time in which a thread glides to its next CPU, ms. */
const GLIDE_MS = 90;

/** Fates of hint faults that moved nothing need a word only in the key; on the picture they are rings. */
const FONT = (px, weight = 400) => `${weight} ${px}px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif`;

export class Scene {
  #canvas;
  #places = new Map();
  #drawnAt = 0;
  #lastT = -1;
  #lastIndex = -1;

  constructor(canvas, words) {
    this.#canvas = canvas;
    this.words = words;
    this.sparks = new Sparks();
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.opening = null;
  }

  /** Takes the machine and the memory of a run that has begun; sets the height of the canvas. */
  open(opening) {
    this.opening = opening;
    this.#places.clear();
    this.sparks.clear();
    this.#lastT = this.#lastIndex = -1;
    this.resize();
  }

  resize() {
    if (!this.opening) return;
    const box = this.#canvas.parentElement;
    const width = Math.max(200, box.clientWidth);
    this.layout = layout(this.opening, width, innerHeight > 900);
    // The style may zoom the whole page.
    const zoom = box.getBoundingClientRect().width / box.clientWidth || 1;
    const ratio = Math.min(3, (devicePixelRatio || 1) * zoom);
    this.#canvas.style.height = `${this.layout.height}px`;
    this.#canvas.width = Math.round(width * ratio);
    this.#canvas.height = Math.round(this.layout.height * ratio);
    this.ratio = ratio;
  }

  /** Draws the frames of a side at `t`, ns of the model. */
  draw(frames, t, nowMs) {
    if (!this.opening || !this.layout) return;
    const index = frames.indexAt(t);
    const frame = frames.list[index];
    this.#advance(frames, t, index, nowMs);
    const c = this.#canvas.getContext("2d");
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.clearRect(0, 0, this.layout.width, this.layout.height);
    this.#nodes(c, frame);
    this.#memory(c, frame);
    if (frame) {
      const places = this.#glide(frame, nowMs);
      this.#glow(c, places, nowMs);
      this.#threads(c, frame, places);
    }
    this.#drawnAt = nowMs;
  }

  /** Sparks for what lies between the last drawing and this one; none when the clock was put elsewhere. */
  #advance(frames, t, index, nowMs) {
    const jumped = t < this.#lastT || index < this.#lastIndex;
    if (jumped) this.sparks.clear();
    else if (index > this.#lastIndex && this.#lastIndex >= 0) {
      const passed = frames.list.slice(this.#lastIndex + 1, index + 1);
      this.sparks.between(frames.list[this.#lastIndex], frames.list[index], passed, nowMs);
    }
    [this.#lastT, this.#lastIndex] = [t, index];
  }

  #nodes(c, frame) {
    const k = colors();
    const { cards, cpus } = this.layout;
    const pageBytes = this.opening.layout.page_bytes;
    const all = frame ? Math.max(1, frame.onNode.reduce((a, b) => a + b, 0)) : 1;
    cards.forEach(({ box: [x, y, w, h], gauge: [gx, gy, gw, gh] }, i) => {
      c.fillStyle = k.raised;
      c.strokeStyle = nodeColor(i);
      c.lineWidth = 1.5;
      round(c, x + 0.75, y + 0.75, w - 1.5, h - 1.5, 9);
      c.fill();
      c.stroke();
      c.fillStyle = nodeColor(i);
      round(c, x + 8, y + 7, 11, 11, 3);
      c.fill();
      c.fillStyle = k.ink;
      c.font = FONT(12.5, 650);
      c.textBaseline = "middle";
      c.textAlign = "left";
      c.fillText(`node ${this.opening.machine.nodes[i].id}`, x + 24, y + 13);
      const pages = frame?.onNode[i] ?? 0;
      c.fillStyle = k.muted;
      c.font = FONT(11.5);
      c.textAlign = "right";
      if (w > 130) c.fillText(bytes(pages * pageBytes), x + w - 9, y + 13);
      c.fillStyle = k.empty;
      round(c, gx, gy, gw, gh, 4);
      c.fill();
      if (pages > 0) {
        c.fillStyle = nodeColor(i);
        round(c, gx, gy, Math.max(4, (gw * pages) / all), gh, 4);
        c.fill();
      }
    });
    c.strokeStyle = k.line;
    c.fillStyle = k.empty;
    c.lineWidth = 1;
    for (const r of cpus) {
      if (!r) continue;
      const [x, y, s] = r;
      round(c, x + 1.5, y + 1.5, s - 3, s - 3, Math.min(5, s / 4));
      c.fill();
      if (s > 12) c.stroke();
    }
  }

  #memory(c, frame) {
    const k = colors();
    const { groups, cells, size } = this.layout;
    c.font = FONT(11.5);
    c.textAlign = "left";
    c.textBaseline = "middle";
    for (const g of groups) {
      c.save();
      c.beginPath();
      c.rect(g.box[0], g.box[1], g.box[2] + 4, 16);
      c.clip();
      c.fillStyle = k.muted;
      const text = g.box[2] > 150 ? `${g.label}, ${bytes(g.bytes)}` : g.label;
      c.fillText(text, g.box[0] + 1, g.box[1] + 8);
      c.restore();
    }
    const inset = size > 9 ? 1 : 0.5;
    const digits = size >= 15;
    if (digits) {
      c.font = FONT(Math.min(11, size * 0.55), 600);
      c.textAlign = "center";
    }
    for (let i = 0; i < cells.length; i++) {
      const [x, y] = cells[i];
      const node = frame ? frame.node[i] : 255;
      const [bx, by, bs] = [x + inset, y + inset, size - 2 * inset];
      if (node === 255) {
        c.fillStyle = k.empty;
        c.fillRect(bx, by, bs, bs);
        continue;
      }
      const marked = frame.marked[i] / 255;
      c.fillStyle = k.empty;
      c.fillRect(bx, by, bs, bs);
      c.globalAlpha = 1 - 0.62 * marked;
      c.fillStyle = nodeColor(node);
      const high = bs * Math.max(0.25, frame.full[i] / 255);
      c.fillRect(bx, by + bs - high, bs, high);
      c.globalAlpha = 1;
      if (frame.share[i] < 245 && size > 7) {
        // The part that is on other nodes.
        const rest = bs * (1 - frame.share[i] / 255);
        c.fillStyle = k.muted;
        c.fillRect(bx + bs - rest, by, rest, bs);
      }
      if (marked > 0.02) hatch(c, bx, by, bs, k.ink, marked);
      else if (digits && frame.full[i] > 200) {
        c.fillStyle = onNode(node);
        c.fillText(node, x + size / 2, y + size / 2 + 0.5);
      }
    }
    frame?.scan.forEach((cell) => cell >= 0 && this.#cursor(c, cells[cell], size));
  }

  /** Where the next scan begins. */
  #cursor(c, [x, y], size) {
    c.strokeStyle = colors().accent;
    c.lineWidth = 2.5;
    c.beginPath();
    c.moveTo(x + 4, y - 1);
    c.lineTo(x, y - 1);
    c.lineTo(x, y + size + 1);
    c.lineTo(x + 4, y + size + 1);
    c.stroke();
  }

  /** Where each thread is drawn, which follows where it is. */
  #glide(frame, nowMs) {
    const dt = Math.min(200, nowMs - this.#drawnAt);
    const part = this.still.matches ? 1 : 1 - Math.exp(-dt / GLIDE_MS);
    const seen = new Map();
    for (let i = 0; i < frame.cpu.length; i++) {
      const slot = this.layout.cpus[frame.cpu[i]];
      if (!slot || frame.doing[i] === "e") continue;
      const [x, y, s] = slot;
      // Threads that wait for a CPU stand beside the one that runs.
      const waits = frame.doing[i] !== "r";
      const goal = [x + s / 2 + (waits ? s * 0.22 : 0), y + s / 2 + (waits ? s * 0.22 : 0)];
      const key = frame.task[i];
      const at = this.#places.get(key) ?? goal;
      const next = [at[0] + (goal[0] - at[0]) * part, at[1] + (goal[1] - at[1]) * part];
      this.#places.set(key, next);
      seen.set(key, next);
    }
    return seen;
  }

  #threads(c, frame, places) {
    const k = colors();
    const s = this.layout.slot;
    const several = this.opening.layout.processes > 1;
    for (const pass of ["s", "q", "r"]) {
      for (let i = 0; i < frame.cpu.length; i++) {
        if (frame.doing[i] !== pass) continue;
        const at = places.get(frame.task[i]);
        if (!at) continue;
        const r = (pass === "r" ? 0.4 : 0.26) * s;
        const preferred = frame.preferred[i];
        c.globalAlpha = pass === "s" ? 0.45 : 1;
        c.fillStyle = preferred >= 0 ? nodeColor(preferred) : k.muted;
        c.beginPath();
        c.arc(at[0], at[1], r, 0, 7);
        c.fill();
        if (pass === "r") {
          c.strokeStyle = k.surface;
          c.lineWidth = 1.2;
          c.stroke();
        }
        if (r > 7 && pass === "r") {
          c.fillStyle = preferred >= 0 ? onNode(preferred) : k.surface;
          c.font = FONT(Math.min(11, r * 0.95), 650);
          c.textAlign = "center";
          c.textBaseline = "middle";
          const [process, thread] = frame.thread[i];
          c.fillText(several ? (thread > 0 ? thread : process) : thread, at[0], at[1] + 0.5);
        }
        c.globalAlpha = 1;
      }
    }
  }

  /** Sparks. Without motion, cells only get an outline. */
  #glow(c, places, nowMs) {
    const k = colors();
    const { cells, size } = this.layout;
    const still = this.still.matches;
    for (const [s, left] of this.sparks.alive(nowMs)) {
      const rect = cells[s.cell];
      if (!rect) continue;
      const [x, y] = rect;
      const [mx, my] = [x + size / 2, y + size / 2];
      c.globalAlpha = left;
      if (s.kind === "marked") {
        c.strokeStyle = k.accent;
        c.lineWidth = 1.5;
        c.strokeRect(x + 0.75, y + 0.75, size - 1.5, size - 1.5);
      } else if (s.kind === "local") {
        c.fillStyle = k.surface;
        c.globalAlpha = 0.7 * left;
        c.beginPath();
        c.arc(mx, my, size * 0.28, 0, 7);
        c.fill();
      } else if (s.kind === "skipped") {
        this.#skipped(c, s);
      } else {
        const color = s.kind === "moved" ? nodeColor(s.to) : k.bad;
        const from = places.get(s.task);
        c.strokeStyle = color;
        if (from && !still) {
          c.globalAlpha = 0.55 * left * left;
          c.lineWidth = s.kind === "moved" ? 1.6 : 1;
          c.beginPath();
          c.moveTo(from[0], from[1]);
          c.quadraticCurveTo(mx, (from[1] + my) / 2, mx, my);
          c.stroke();
        }
        c.globalAlpha = left;
        c.lineWidth = 2;
        c.beginPath();
        c.arc(mx, my, size * (still ? 0.6 : 0.45 + 0.9 * (1 - left)), 0, 7);
        c.stroke();
      }
    }
    c.globalAlpha = 1;
  }

  /** A mapping that the scanner passed over, and why. */
  #skipped(c, spark) {
    const k = colors();
    const group = this.layout.groups.find((g) => spark.cell >= g.first && spark.cell < g.end);
    if (!group) return;
    const [x, y, w, h] = group.box;
    c.strokeStyle = k.bad;
    c.lineWidth = 2;
    c.setLineDash([5, 4]);
    c.strokeRect(x - 1, y + 15, w + 2, h - 14);
    c.setLineDash([]);
    const word = (this.opening.words[0][spark.code] ?? "").replaceAll("_", " ");
    c.font = FONT(11, 650);
    c.textAlign = "left";
    c.textBaseline = "middle";
    const text = `skipped: ${word}`;
    if (w > 100) {
      c.fillStyle = k.surface;
      c.fillRect(x, y, c.measureText(text).width + 8, 15);
      c.fillStyle = k.bad;
      c.fillText(text, x + 3, y + 8);
    }
  }
}

function round(c, x, y, w, h, r) {
  c.beginPath();
  c.roundRect(x, y, w, h, r);
}

/** Diagonal lines: the entry is marked, and the next access faults. */
function hatch(c, x, y, s, color, strength) {
  c.save();
  c.beginPath();
  c.rect(x, y, s, s);
  c.clip();
  c.strokeStyle = color;
  c.globalAlpha = 0.25 + 0.45 * strength;
  c.lineWidth = 1;
  c.beginPath();
  for (let d = 3; d < 2 * s; d += s > 10 ? 5 : 3) {
    c.moveTo(x + d, y);
    c.lineTo(x, y + d);
  }
  c.stroke();
  c.restore();
}
