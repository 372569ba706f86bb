// The simulator's module: one instance holds one run. Works in workers and in Node.js.

/** An instance of a compiled module, with its functions as methods that take and give text. */
export class Simulator {
  #exports;

  /** @param {WebAssembly.Instance} instance */
  constructor(instance) {
    this.#exports = instance.exports;
  }

  /** Compiles nothing: makes an instance of a module that is compiled. */
  static async of(module) {
    return new Simulator(await WebAssembly.instantiate(module, {}));
  }

  #put(text) {
    const bytes = new TextEncoder().encode(text);
    const at = this.#exports.numalab_input(bytes.length);
    new Uint8Array(this.#exports.memory.buffer, at, bytes.length).set(bytes);
  }

  /** Calls a function; an answer that is a message of what is wrong is thrown. */
  #call(name, ...parameters) {
    const code = this.#exports[name](...parameters);
    const at = this.#exports.numalab_output();
    const bytes = new Uint8Array(this.#exports.memory.buffer, at, this.#exports.numalab_output_len());
    const text = new TextDecoder().decode(bytes);
    if (code !== 0) throw new Error(text);
    return text;
  }

  /** What the catalog offers. */
  offer() {
    return JSON.parse(this.#call("numalab_offer"));
  }

  /** The file of a workload. */
  workloadText(name) {
    this.#put(name);
    return this.#call("numalab_workload_text");
  }

  /** Tunables of a kernel: name, value, unit and the kernel's own name of each. */
  tunables(kernel) {
    this.#put(kernel);
    return JSON.parse(this.#call("numalab_tunables"));
  }

  /** Starts a run; `live` runs keep events for looks. */
  start(asked, live = true) {
    this.#put(JSON.stringify(asked));
    return JSON.parse(this.#call("numalab_start", live ? 1 : 0));
  }

  /** Goes on to `untilNs` of model time. Returns the time reached, and whether the run is over. */
  advance(untilNs) {
    const now = this.#exports.numalab_advance(untilNs);
    if (Number.isNaN(now)) throw new Error("no run has been started");
    return now < 0 ? { nowNs: -now - 1, over: true } : { nowNs: now, over: false };
  }

  /** The run as it is. */
  look() {
    return JSON.parse(this.#call("numalab_look"));
  }

  /** Runs to the end; returns the outcome as text, whose bytes are those of the native build. */
  finish() {
    return this.#call("numalab_finish");
  }

  /** Label and sentence of each line of the answer to outcomes. */
  answer(compared) {
    this.#put(JSON.stringify(compared));
    return JSON.parse(this.#call("numalab_answer"));
  }

  /** The same for outcomes that are text already. */
  answerText(compared) {
    this.#put(compared);
    return JSON.parse(this.#call("numalab_answer"));
  }
}

/** The bytes of a module that stands gzipped in base64. */
export async function unpack(base64) {
  const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
