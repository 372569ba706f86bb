// What happens between two frames, as things that glow for a moment: faults, moves, marks of a scan, mappings that were skipped.

import { KIND } from "./frames.js";

/** How long each glows, ms of the wall. */
const LIFE = { moved: 900, stayed: 500, local: 420, marked: 700, skipped: 1100 };

/** Most that glow at once; of more, the oldest go. */
const MOST = 420;

/** Most of a kind that one step adds. */
const MOST_AT_ONCE = 40;

export class Sparks {
  constructor() {
    this.list = [];
  }

  clear() {
    this.list = [];
  }

  /** Adds what lies between two frames, and what the events of the frames passed tell. */
  between(before, after, passed, nowMs) {
    const count = {};
    const add = (kind, more) => {
      count[kind] = (count[kind] ?? 0) + 1;
      if (count[kind] <= MOST_AT_ONCE) this.list.push({ kind, bornMs: nowMs, lifeMs: LIFE[kind], ...more });
    };
    for (const frame of passed) {
      for (const [, kind, code, task, , y, , cell] of frame.events) {
        if (cell < 0) continue;
        if (kind === KIND.fault) add(code === 1 ? "moved" : "stayed", { cell, task, from: y >>> 16, to: y & 0xffff, code });
        else if (kind === KIND.skip) add("skipped", { cell, code });
      }
    }
    if (before && after && before.marked.length === after.marked.length) {
      for (let c = 0; c < after.marked.length; c++) {
        if (after.marked[c] > before.marked[c]) add("marked", { cell: c });
        else if (after.marked[c] < before.marked[c] && after.node[c] === before.node[c]) add("local", { cell: c });
      }
    }
    if (this.list.length > MOST) this.list.splice(0, this.list.length - MOST);
  }

  /** Those that still glow, with how much is left of each, 1 to 0. */
  *alive(nowMs) {
    this.list = this.list.filter((s) => nowMs - s.bornMs < s.lifeMs);
    for (const s of this.list) yield [s, 1 - (nowMs - s.bornMs) / s.lifeMs];
  }
}
