// Frames: looks at a run in a compact form, kept for scrubbing.

/** Most frames of a run that are kept; when there are more, every other one goes, the first and the latest stay. */
const MOST = 1500;

/** Kinds of events, by their number in the log. */
export const KIND = { born: 1, ended: 2, switch: 3, moved: 4, scan: 5, skip: 6, scanned: 7, fault: 9, preferred: 10, placed: 11, grouped: 12 };

/** @typedef {{t: number, cpu: Uint16Array, doing: string, preferred: Int16Array, period: Uint32Array, thread: [number, number][], task: number[],
 *   node: Uint8Array, share: Uint8Array, full: Uint8Array, marked: Uint8Array, scan: number[], counts: number[], cpuNs: number[],
 *   onNode: number[], events: number[][], dropped: number}} Frame */

/** A look as a frame. `cells` has the pages of each cell. @returns {Frame} */
export function frameOf(look, cells, nodes) {
  const n = cells.length;
  const frame = {
    t: look.now_ns,
    cpu: Uint16Array.from(look.threads, (t) => t[2]),
    doing: look.threads.map((t) => t[3]).join(""),
    preferred: Int16Array.from(look.threads, (t) => t[4]),
    period: Uint32Array.from(look.threads, (t) => t[5]),
    thread: look.threads.map((t) => [t[0], t[1]]),
    task: look.threads.map((t) => t[6]),
    node: new Uint8Array(n).fill(255),
    share: new Uint8Array(n),
    full: new Uint8Array(n),
    marked: new Uint8Array(n),
    scan: look.scan,
    counts: look.counts,
    cpuNs: look.cpu_ns,
    onNode: new Array(nodes).fill(0),
    events: look.events,
    dropped: look.dropped,
  };
  for (let c = 0; c < n; c++) {
    let [sum, most, at] = [0, 0, 255];
    for (let node = 0; node < nodes; node++) {
      const pages = look.pages[c * nodes + node];
      sum += pages;
      frame.onNode[node] += pages;
      if (pages > most) [most, at] = [pages, node];
    }
    const all = cells[c][3] - cells[c][2];
    frame.node[c] = at;
    frame.share[c] = sum ? Math.round((255 * most) / sum) : 0;
    frame.full[c] = Math.min(255, Math.ceil((255 * sum) / all));
    frame.marked[c] = sum ? Math.min(255, Math.ceil((255 * look.marked[c]) / sum)) : 0;
  }
  return frame;
}

/** The frames of one run, in the order of their times. */
export class Frames {
  constructor() {
    /** @type {Frame[]} */
    this.list = [];
  }

  add(frame) {
    this.list.push(frame);
    if (this.list.length > MOST) {
      const last = this.list.length - 1;
      this.list = this.list.filter((_, i) => i % 2 === 0 || i === last);
    }
  }

  /** The index of the latest frame at `t` or before; 0 if all are later, -1 without frames. */
  indexAt(t) {
    let [low, high] = [0, this.list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.list[middle].t <= t) low = middle + 1;
      else high = middle;
    }
    return Math.max(low - 1, this.list.length ? 0 : -1);
  }

  at(t) {
    return this.list[this.indexAt(t)];
  }

  get last() {
    return this.list[this.list.length - 1];
  }
}
