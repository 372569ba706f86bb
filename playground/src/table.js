// The instant as a table: the same as on the picture, for those who do not see it.

import { $, el } from "./dom.js";
import { bytes, count } from "./format.js";

const row = (cells, head) => el("tr", {}, ...cells.map((c, i) => el(head || i === 0 ? "th" : "td", { text: c, scope: head ? "col" : i === 0 ? "row" : undefined })));

/** Threads and memory on each node, and what was counted, for each side. */
export function table(sides, names, t) {
  const frames = sides.map((s) => s.frames.at(t));
  const opening = sides[0].opening;
  const nodes = opening.machine.nodes;
  const page = opening.layout.page_bytes;
  const threadsOn = (f, node) => Array.from(f.cpu).filter((cpu, i) => f.doing[i] === "r" && opening.machine.cpus[cpu]?.node === node).length;
  const per = (f) => (f ? nodes.map((_, i) => [bytes(f.onNode[i] * page), String(threadsOn(f, i))]) : nodes.map(() => ["", ""]));
  const cells = frames.map(per);
  const head = row(["", ...names.flatMap((n) => [`${n}: memory`, `${n}: running threads`])], true);
  const body = nodes.map((n, i) => row([`node ${n.id}`, ...cells.flatMap((c) => c[i])]));
  const words = ["hint faults", "local hint faults", "pages migrated", "entries marked", "page faults"];
  const counts = words.map((w, k) => row([w, ...frames.flatMap((f) => [f ? count(f.counts[k]) : "", ""])]));
  $("figures").replaceChildren(el("table", {}, el("thead", {}, head), el("tbody", {}, ...body, ...counts)));
}

/** One sentence about a side, for the picture's label. */
export function sentence(side, name, t) {
  const f = side.frames.at(t);
  if (!f || !side.opening) return `${name}: not started`;
  const page = side.opening.layout.page_bytes;
  const nodes = side.opening.machine.nodes.map((n, i) => `node ${n.id} has ${bytes(f.onNode[i] * page)}`).join(", ");
  return `${name} at ${(f.t / 1e9).toFixed(2)} s: ${nodes}; ${count(f.counts[0])} hint faults, ${count(f.counts[2])} pages migrated`;
}
