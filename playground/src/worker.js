// A worker: carries out one run, in slices short enough that a message is answered soon.
//
// The page sends `module` once, then `ask` (one of the module's questions) or `start`, and `want`, which says up to when looks are
// wanted and how far apart. Looks go back as they come. `stop` forgets the run; a later `start` begins another.

import { Simulator } from "./module.js";

/** Wall time of a slice, ms: a message waits no longer than this and one step. */
const SLICE_MS = 12;

let module = null;
let run = null;
let number = 0;
let busy = false;

const post = (message) => self.postMessage({ ...message, run: number });

/** Runs until what is wanted has been looked at, giving way to messages between slices. */
async function work() {
  if (busy) return;
  busy = true;
  while (run && !run.over && run.nextNs <= run.untilNs) {
    const mine = run;
    const until = performance.now() + SLICE_MS;
    const began = performance.now();
    while (!mine.over && mine.nextNs <= mine.untilNs && performance.now() < until) {
      let reached = mine.simulator.advance(mine.nextNs);
      // With `everyMs`, the run goes as fast as it can between two looks.
      while (mine.everyMs > 0 && !reached.over && reached.nowNs < mine.untilNs && performance.now() - mine.lookedMs < mine.everyMs) {
        reached = mine.simulator.advance(reached.nowNs + mine.stepNs);
      }
      mine.lookedMs = performance.now();
      mine.over = reached.over;
      post({ type: "look", look: mine.simulator.look(), over: reached.over });
      mine.nextNs = Math.max(mine.nextNs + mine.stepNs, reached.nowNs);
    }
    mine.busyMs += performance.now() - began;
    if (mine.over) post({ type: "outcome", text: mine.simulator.finish(), busyMs: mine.busyMs });
    await new Promise((done) => setTimeout(done));
  }
  busy = false;
}

const ACTIONS = {
  module({ bytes }) {
    // A promise: requests may come before the module is compiled.
    module = WebAssembly.compile(bytes);
  },
  async start({ asked, run: id, live }) {
    number = id;
    run = null;
    const simulator = await Simulator.of(await module);
    if (number !== id) return;
    const opening = simulator.start(asked, live);
    run = { simulator, over: false, nextNs: 0, untilNs: -1, stepNs: 1, everyMs: 0, lookedMs: 0, busyMs: 0 };
    post({ type: "opening", opening });
  },
  want({ untilNs, stepNs, everyMs, run: id }) {
    if (!run || id !== number) return;
    [run.stepNs, run.everyMs] = [stepNs, everyMs];
    run.untilNs = untilNs;
    run.nextNs = Math.min(run.nextNs, run.untilNs);
    work();
  },
  stop() {
    run = null;
    number = -1;
  },
  async ask({ what, argument, id }) {
    // A question has an instance of its own, which goes when it is answered.
    const simulator = await Simulator.of(await module);
    self.postMessage({ type: "answer", id, value: simulator[what](argument) });
  },
};

self.onmessage = async ({ data }) => {
  try {
    await ACTIONS[data.type](data);
  } catch (e) {
    // A trap means that the instance is lost; the message of a refusal is the module's own.
    const what = e instanceof WebAssembly.RuntimeError ? `the simulator stopped: ${e.message}` : e.message;
    self.postMessage({ type: "wrong", what, id: data.id, run: data.run });
  }
};
