// One side of the comparison: a worker with a run, and the frames that came from it.

import { Frames, frameOf } from "./frames.js";

export class Side {
  #worker;
  #run = 0;
  #questions = new Map();
  #changed;

  /** `changed` is called when the run has begun, come further, ended or been refused. */
  constructor(makeWorker, bytes, changed) {
    this.#worker = makeWorker();
    this.#worker.onmessage = ({ data }) => this.#receive(data);
    this.#changed = changed;
    this.#worker.postMessage({ type: "module", bytes });
    this.#forget();
  }

  #forget() {
    this.frames = new Frames();
    this.opening = null;
    this.over = false;
    this.outcome = null;
    this.wrong = "";
    this.busyMs = 0;
    this.wanted = -1;
  }

  /** Begins a run; an earlier one is forgotten. */
  start(asked) {
    this.#forget();
    this.#run += 1;
    this.#worker.postMessage({ type: "start", asked, run: this.#run, live: true });
  }

  /** Forgets the run. */
  stop() {
    this.#forget();
    this.#worker.postMessage({ type: "stop" });
  }

  /** Asks for looks up to `untilNs`, `stepNs` apart; with `everyMs`, one look in so much time of the wall instead. */
  want(untilNs, stepNs, everyMs = 0) {
    if (this.over || !this.opening || (untilNs === this.wanted && stepNs === this.step)) return;
    [this.wanted, this.step] = [untilNs, stepNs];
    this.#worker.postMessage({ type: "want", untilNs, stepNs, everyMs, run: this.#run });
  }

  /** Puts a question to the module: `offer`, `tunables`, `workloadText` or `answerText`. */
  ask(what, argument) {
    const id = this.#questions.size + 1;
    return new Promise((resolve, reject) => {
      this.#questions.set(id, { resolve, reject });
      this.#worker.postMessage({ type: "ask", what, argument, id });
    });
  }

  /** Up to when the run is known, ns. */
  get frontierNs() {
    return this.frames.last?.t ?? 0;
  }

  /** A program that has ended holds no memory: the last picture shows what was before, with the counts of the end. */
  #asItWas(frame, over) {
    const last = this.frames.last;
    return over && last ? { ...last, t: frame.t, counts: frame.counts, cpuNs: frame.cpuNs, events: frame.events } : frame;
  }

  #receive(data) {
    if (data.type === "answer" || (data.type === "wrong" && data.id)) {
      const question = this.#questions.get(data.id);
      if (data.type === "answer") question?.resolve(data.value);
      else question?.reject(new Error(data.what));
      return;
    }
    if (data.run !== this.#run) return;
    if (data.type === "wrong") this.wrong = data.what;
    if (data.type === "opening") this.opening = data.opening;
    if (data.type === "look") {
      this.frames.add(this.#asItWas(frameOf(data.look, this.opening.layout.cells, this.opening.layout.nodes), data.over));
      this.over = data.over;
    }
    if (data.type === "outcome") {
      this.outcome = data.text;
      this.busyMs = data.busyMs;
    }
    this.#changed(data.type);
  }
}
