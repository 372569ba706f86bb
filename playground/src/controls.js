// The form that changes the experiment. It reads and writes a set-up; `changed` is called when the reader has changed something.

import { $, el } from "./dom.js";
import { bytes } from "./format.js";

const SHORTHANDS = ["2x1x2x1", "2x1x4x1", "4x1x2x1", "4x1x4x1", "8x1x4x1", "4x1x8x2"];
const THREADS = ["workers", "threads_per_process", "threads", "pairs", "warehouses"];
const MIB = 2 ** 20;

/** Sliders of tunables of the kernel: name, label, steps, and how a step is shown. */
const SLIDERS = [
  { name: "scan.scan_period_min_ms", label: "Shortest scan period", steps: [50, 100, 200, 500, 1000, 2000, 5000, 10000], usual: 1000, show: (v) => `${v} ms` },
  { name: "scan.scan_size_mb", label: "Scan size", steps: [1, 4, 16, 64, 256, 1024], usual: 256, show: (v) => `${v} MiB` },
  { name: "scan.scan_delay_ms", label: "Delay before the first scan", steps: [0, 50, 200, 1000, 5000], usual: 1000, show: (v) => `${v} ms` },
];

const valueOf = (list, name) => list.find(([n]) => n === name)?.[1];

/** A list of pairs with `name` set to `value`, or without it. */
function withValue(list, name, value) {
  const rest = list.filter(([n]) => n !== name);
  return value === undefined ? rest : [...rest, [name, String(value)]];
}

const field = (label, control, hint) => el("label", { class: "field" }, el("span", { text: label }), control, hint && el("small", { text: hint }));

function choice(name, options, value, changed) {
  const known = options.some((o) => o.name === value);
  const all = known || !value ? options : [{ name: value, title: "" }, ...options];
  const select = el("select", { name, onchange: () => changed(select.value) });
  select.append(...all.map((o) => el("option", { value: o.name, text: o.title ? `${o.name}: ${o.title}`.slice(0, 90) : o.name })));
  select.value = value;
  return select;
}

/** A slider over steps, with what it stands at beside it. */
function slider(name, steps, at, show, changed) {
  const index = (v) => steps.reduce((best, s, i) => (Math.abs(Math.log((s + 1) / (v + 1))) < Math.abs(Math.log((steps[best] + 1) / (v + 1))) ? i : best), 0);
  const out = el("output", { text: show(at) });
  const input = el("input", { type: "range", name, min: "0", max: String(steps.length - 1), step: "1", value: String(index(at)) });
  input.setAttribute("aria-valuetext", show(at));
  input.addEventListener("input", () => {
    out.textContent = show(steps[input.value]);
    input.setAttribute("aria-valuetext", show(steps[input.value]));
  });
  input.addEventListener("change", () => changed(steps[input.value]));
  return el("span", { class: "slider" }, input, out);
}

/** Bytes of "512MiB"; undefined for an expression. */
function parseBytes(text) {
  const m = /^(\d+(?:\.\d+)?)\s*([KMGT]?i?B)$/.exec(text.trim());
  const unit = { B: 1, KiB: 2 ** 10, MiB: MIB, GiB: 2 ** 30, TiB: 2 ** 40 }[m?.[2]];
  return unit && Number(m[1]) * unit;
}

export class Controls {
  #offer;
  #changed;

  constructor(offer, changed) {
    this.#offer = offer;
    this.#changed = changed;
  }

  /** Fills the form from a set-up. */
  show(s) {
    const form = $("form");
    const change = (edit) => {
      const next = structuredClone(s);
      edit(next);
      this.#changed(next);
    };
    form.replaceChildren(this.#machine(s, change), this.#sides(s, change), this.#workload(s, change), this.#kernel(s, change), this.#more(s, change));
  }

  #machine(s, change) {
    const named = [...SHORTHANDS.map((name) => ({ name, title: "" })), ...this.#offer.machines];
    const set = (value) => change((n) => Object.assign(n, { machine: value, machineText: "" }));
    const own = el("input", { type: "text", name: "own-machine", placeholder: "8x1x4x2", pattern: "\\d+x\\d+x\\d+x\\d+", onchange: () => own.value && set(own.value) });
    const pasted = el("textarea", { name: "machine-text", rows: "4", placeholder: "available: 2 nodes (0-1)\nnode 0 cpus: 0 1 2 3\n…", spellcheck: false, text: s.machineText });
    pasted.addEventListener("change", () => change((n) => (n.machineText = pasted.value.trim())));
    return el("fieldset", {}, el("legend", { text: "Machine" }),
      field("From the catalog", choice("machine", named, s.machineText ? "" : s.machine, set)),
      field("Nodes x caches x cores x threads", own),
      field("Or paste `numactl -H` of yours".replaceAll("`", ""), pasted, "The output of numactl -H, lscpu or lstopo, or a machine file. Nothing leaves this page."));
  }

  #sides(s, change) {
    const rows = s.sides.map((side, i) => {
      const balancing = el("input", { type: "checkbox", checked: valueOf(side.set, "system.numa_balancing") !== "0" && side.kernel !== "off" });
      balancing.disabled = side.kernel === "off";
      balancing.addEventListener("change", () => change((n) => (n.sides[i].set = withValue(side.set, "system.numa_balancing", balancing.checked ? undefined : "0"))));
      return el("div", { class: "pair" },
        field(s.sides.length > 1 ? `Kernel ${"AB"[i]}` : "Kernel", choice(`kernel${i}`, this.#offer.kernels, side.kernel, (value) => change((n) => (n.sides[i] = { kernel: value, set: [] })))),
        el("label", { class: "check" }, balancing, "balancing"));
    });
    const beside = el("button", { type: "button", text: s.sides.length > 1 ? "One kernel only" : "Compare with a second kernel" });
    beside.addEventListener("click", () => change((n) => (n.sides = n.sides.length > 1 ? [n.sides[1]] : [{ kernel: "off", set: [] }, ...n.sides])));
    return el("fieldset", {}, el("legend", { text: "Kernels" }), ...rows, beside);
  }

  #workload(s, change) {
    const spec = s.workloadText ? null : this.#offer.workloads.find((w) => w.name === s.workload);
    const params = spec?.params ?? s.param.map(([name, value]) => [name, value, ""]);
    const set = (name, value, usual) => change((n) => (n.param = withValue(n.param, name, value === usual ? undefined : value)));
    const controls = params.map(([name, usual, about]) => {
      const now = valueOf(s.param, name) ?? usual;
      const size = parseBytes(now);
      if (name === "memory" && size) {
        const steps = Array.from({ length: 9 }, (_, i) => 2 ** (24 + i));
        return field("Memory", slider(name, steps, size, bytes, (v) => set(name, `${v / MIB}MiB`, usual)), about);
      }
      if (THREADS.includes(name) && (now === "cpus" || /^\d+$/.test(now))) {
        const steps = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
        const at = now === "cpus" ? 0 : Number(now);
        const show = (v) => (v === 0 ? "one per CPU" : String(v));
        return field("Threads", slider(name, steps, at, show, (v) => set(name, v === 0 ? usual : String(v), usual)), about);
      }
      const input = el("input", { type: "text", name, value: now, onchange: () => set(name, input.value.trim() || undefined, usual) });
      return field(name, input, about);
    });
    const text = el("textarea", { name: "workload-text", rows: "10", spellcheck: false, text: s.workloadText });
    text.addEventListener("change", () => change((n) => (n.workloadText = text.value.trim() ? text.value : "")));
    const edit = el("button", { type: "button", text: "Edit the file of this workload", onclick: () => this.onedit?.(s.workload) });
    const main = controls.slice(0, 3);
    const rest = controls.slice(3);
    return el("fieldset", {}, el("legend", { text: "Workload" }),
      field("Program", choice("workload", this.#offer.workloads, s.workloadText ? "" : s.workload, (value) => change((n) => Object.assign(n, { workload: value, workloadText: "", param: [] })))),
      ...main, rest.length ? el("details", {}, el("summary", { text: `${rest.length} more parameters` }), ...rest) : null,
      s.workloadText ? field("Its file, edited", text) : edit);
  }

  #kernel(s, change) {
    const sliders = SLIDERS.map(({ name, label, steps, usual, show }) => {
      const now = Number(valueOf(s.set, name) ?? usual);
      return field(label, slider(name, steps, now, show, (v) => change((n) => (n.set = withValue(n.set, name, v === usual ? undefined : v)))));
    });
    const huge = ["madvise", "always", "never"].map((name) => ({ name, title: "" }));
    const pages = choice("thp", huge, valueOf(s.set, "system.thp") ?? "madvise", (value) => change((n) => (n.set = withValue(n.set, "system.thp", value === "madvise" ? undefined : value))));
    return el("fieldset", {}, el("legend", { text: "Settings of every kernel" }), ...sliders, field("Huge pages", pages));
  }

  #more(s, change) {
    const lines = (list) => list.map(([n, v]) => `${n}=${v}`).join("\n");
    const read = (text) => text.split("\n").map((l) => l.trim()).filter(Boolean).map((l) => (l.includes("=") ? [l.slice(0, l.indexOf("=")).trim(), l.slice(l.indexOf("=") + 1).trim()] : [l, ""]));
    const area = (name, list, put) => {
      const t = el("textarea", { name, rows: "2", spellcheck: false, placeholder: "group.key=value", text: lines(list) });
      t.addEventListener("change", () => change((n) => put(n, read(t.value))));
      return t;
    };
    const seed = el("input", { type: "number", name: "seed", min: "0", value: String(s.seed), onchange: () => change((n) => (n.seed = Math.max(0, Math.floor(Number(seed.value) || 0)))) });
    const quiet = el("input", { type: "checkbox", checked: s.quiet, onchange: () => change((n) => (n.quiet = quiet.checked)) });
    return el("fieldset", {}, el("legend", { text: "Everything else" }),
      field("Any tunable or role, for both", area("set", s.set, (n, list) => (n.set = list))),
      ...s.sides.map((side, i) => field(`Only for ${s.sides.length > 1 ? "AB"[i] : "it"}`, area(`set${i}`, side.set, (n, list) => (n.sides[i].set = list)))),
      field("Seed", seed), el("label", { class: "check" }, quiet, "a machine without threads of its own"));
  }
}
