// The clock that both sides share: it plays, waits for the simulator, and can be put anywhere in what is known.

/** Speeds, model seconds in a second; the last is as fast as the simulator runs. */
export const SPEEDS = [0.0002, 0.001, 0.005, 0.02, 0.1, 0.5, 1, 2, 5, Infinity];

/** How far ahead of the clock looks are asked for, in seconds of the wall. */
const AHEAD_S = 0.4;

/** Model time between two looks when the run goes as fast as it can, ns. */
const FAST_STEP_NS = 5e6;

/** Wall time between two looks then, ms. */
const FAST_LOOK_MS = 15;

export class Player {
  constructor(sides) {
    this.sides = sides;
    this.reset();
  }

  reset() {
    this.t = 0;
    this.playing = false;
    this.fresh = true;
  }

  get active() {
    return this.sides().filter((s) => s.opening);
  }

  /** Up to when all sides are known; sides that are over set no bound. */
  get frontier() {
    const sides = this.active;
    const open = sides.filter((s) => !s.over).map((s) => s.frontierNs);
    return open.length ? Math.min(...open) : Math.max(0, ...sides.map((s) => s.frontierNs));
  }

  /** The latest instant that any side knows. */
  get end() {
    return Math.max(0, ...this.active.map((s) => s.frontierNs));
  }

  /** Whether all runs are over, and the clock has come to their end. */
  get done() {
    const sides = this.active;
    return sides.length > 0 && sides.every((s) => s.over) && this.t >= this.end;
  }

  /** Puts the clock at `t`, within what is known. */
  seek(t) {
    this.t = Math.max(0, Math.min(t, this.end));
  }

  /** Goes on by `seconds` of the wall at `speed`; returns how far the clock went, ns. */
  tick(seconds, speed) {
    const before = this.t;
    if (this.playing) {
      const fast = speed === Infinity;
      const wish = fast ? this.frontier : this.t + seconds * speed * 1e9;
      this.t = Math.max(this.t, Math.min(wish, this.frontier));
      const untilNs = fast ? Number.MAX_SAFE_INTEGER : this.t + Math.max(1e3, AHEAD_S * speed * 1e9);
      for (const side of this.active) {
        if (fast) side.want(untilNs, FAST_STEP_NS, FAST_LOOK_MS);
        else side.want(Math.round(untilNs), Math.max(500, Math.round((speed * 1e9) / 60)));
      }
      if (this.done) this.playing = false;
    }
    return this.t - before;
  }
}
