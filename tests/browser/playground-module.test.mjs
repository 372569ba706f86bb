// The simulator as WebAssembly, in Node.js: its outcomes have the bytes of the native build's, its plans are those of the
// command, and what the lessons claim holds.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { figure, holds } from "../../playground/src/lessons.js";
import { first, fromFragment, requests, sideName, toFragment } from "../../playground/src/setup.js";
import { module, native, onTerminal, read, setupOf, simulator } from "./playground.mjs";

const { list, files } = read();
let compiled;
before(async () => {
  compiled = await module();
});

/** The outcome of a request, in slices, as text. */
async function outcome(asked, slice = 50e6) {
  const s = await simulator(compiled);
  s.start(asked, true);
  let reached = { nowNs: 0, over: false };
  let looks = 0;
  while (!reached.over) {
    reached = s.advance(reached.nowNs + slice);
    if (looks++ % 10 === 0) s.look();
  }
  return s.finish();
}

/** Set-ups that have little in common. */
const SETUPS = [
  { ...first(), param: [["memory", "256MiB"], ["loops", "300"]] },
  { ...first(), machine: "milan-2s-nps1", workload: "stream", sides: [{ kernel: "6.1", set: [] }], seed: 3 },
  { ...first(), machine: "2x1x4x2", workload: "cow-shared", param: [["duration", "2s"]], sides: [{ kernel: "4.15", set: [] }], quiet: true },
  { ...first(), machine: "2x2x4x1", workload: "random-shared", param: [["duration", "4s"]], set: [["system.thp", "always"]], sides: [{ kernel: "7.2", set: [] }] },
  { ...first(), machine: "2x1x2x1", workload: "first-touch", param: [["duration", "4s"]], sides: [{ kernel: "3.7-autonuma-v27", set: [] }] },
];

describe("the module", () => {
  for (const setup of SETUPS) {
    for (const asked of requests(setup)) {
      it(`has the bytes of the native build: ${asked.machine} ${asked.sides[asked.side].kernel} ${asked.workload}`, async () => {
        assert.equal(await outcome(asked), native(asked));
      });
    }
  }
  it("says what is wrong with the words of the native build", async () => {
    const asked = { ...requests(first())[0], workload: "numa2" };
    const s = await simulator(compiled);
    assert.throws(() => s.start(asked), { message: native(asked) });
    const [ok] = requests(first());
    assert.ok(s.start(ok).id, "a refusal leaves the instance usable");
  });
  it("offers what the catalog has", async () => {
    const offer = (await simulator(compiled)).offer();
    assert.ok(offer.kernels.some((k) => k.name === "6.12" && k.title.startsWith("Linux 6.12")));
    assert.ok(offer.machines.length > 20 && offer.workloads.every((w) => w.title));
  });
});

describe("a link", () => {
  it("carries the whole set-up", () => {
    const setup = {
      machine: "x", machineText: "node 0 cpus: 0\n= &#", workload: "w", workloadText: 'name = "w"\n', param: [["a", "b=c"]], set: [["s.t", "1"]],
      sides: [{ kernel: "5.5", set: [["thp.ladder", "D0 4k | D1 THP"]] }, { kernel: "off", set: [] }], seed: 9, quiet: true, lesson: "ping-pong",
    };
    assert.deepEqual(fromFragment(`#${toFragment(setup)}`), setup);
    assert.deepEqual(fromFragment(""), first());
    assert.deepEqual(fromFragment("#seed=-1&quiet=x"), first());
  });
});

describe("a pasted machine", () => {
  it("is the machine of the command", async () => {
    const machineText = "available: 2 nodes (0-1)\nnode 0 cpus: 0 1\nnode 0 size: 4000 MB\nnode 1 cpus: 2 3\nnode 1 size: 4000 MB\nnode distances:\nnode 0 1\n0: 10 21\n1: 21 10\n";
    const setup = { ...first(), machine: "", machineText, workload: "first-touch", param: [["duration", "2s"], ["memory", "64MiB"]], seed: 5, quiet: true };
    const terminal = onTerminal(setup);
    const ids = [];
    for (const asked of requests(setup)) ids.push((await simulator(compiled)).start(asked, false).id);
    assert.deepEqual(ids.sort(), terminal.ids.sort());
  });
});

describe("lessons", () => {
  it("are six, and their sentences are short", () => {
    assert.equal(list.length, 6);
    for (const lesson of list) {
      const texts = [lesson.question, ...lesson.steps.flatMap((s) => [...s.text, s.look]), ...lesson.change.text, lesson.change.after];
      texts.push(...[...lesson.claims, ...lesson.change.claims].map((c) => c.text));
      for (const sentence of texts.flatMap((t) => t.split(/(?<=[.?!:]) /))) {
        assert.ok(sentence.split(/\s+/).length <= 25, `${lesson.id}: ${sentence}`);
      }
    }
  });
  for (const lesson of list) {
    it(`${lesson.id}: what it claims holds, before and after the change`, async () => {
      let earlier;
      for (const changed of [false, true]) {
        const setup = setupOf(lesson, files, changed);
        const outcomes = [];
        for (const asked of requests(setup)) outcomes.push(JSON.parse(await outcome(asked)));
        for (const claim of changed ? lesson.change.claims : lesson.claims) {
          const got = outcomes.map((o) => figure(o, claim.figure));
          assert.equal(holds(claim, outcomes, earlier), true, `${claim.text} (${claim.figure}: ${got.join(", ")})`);
        }
        earlier = outcomes;
      }
    });
    it(`${lesson.id}: the command on the page makes the same plans, with the same figures`, async () => {
      for (const changed of [false, true]) {
        const setup = setupOf(lesson, files, changed);
        const terminal = onTerminal(setup);
        const ids = [];
        for (const [i, asked] of requests(setup).entries()) {
          const s = await simulator(compiled);
          const opening = s.start(asked, false);
          ids.push(opening.id);
          const own = JSON.parse(s.finish());
          const column = opening.plan.kernel.name;
          const [block] = terminal.comparison.workloads;
          for (const name of ["numa_hint_faults", "numa_pages_migrated", "numa_pte_updates"]) {
            assert.equal(block.metrics.find((c) => c.name === name).kernels[column].mean ?? 0, figure(own, name), `${name} of ${sideName(setup.sides[i])}`);
          }
          assert.equal(block.metrics.find((m) => m.name === "elapsed").kernels[column].mean, figure(own, "elapsed_s"));
        }
        assert.deepEqual(ids.sort(), terminal.ids.sort());
      }
    });
  }
});
