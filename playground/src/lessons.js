// The six lessons, and what can be claimed of an outcome. Node.js reads the same files for the tests.

import { first } from "./setup.js";

/** The set-up of a lesson, or of its change. `files` has the texts that it names. */
export function setupOf(lesson, files, changed = false) {
  const of = { ...lesson.setup, ...(changed ? lesson.change.setup : {}) };
  const { machine_file, workload_file, ...plain } = of;
  return {
    ...first(),
    param: [],
    set: [],
    ...structuredClone(plain),
    machineText: machine_file ? files[machine_file] : "",
    workloadText: workload_file ? files[workload_file] : "",
    lesson: lesson.id,
  };
}

/** A figure of an outcome by name: a scalar, a counter, a reason, or a share of memory at a part of the run. */
export function figure(outcome, name) {
  const share = /^largest_node_share@(.+)$/.exec(name);
  if (share) return largestShare(outcome, Number(share[1]));
  const scalar = outcome.scalars.find((s) => s.name === name);
  if (scalar) return scalar.value;
  const pair = [...outcome.counters, ...outcome.reasons].find(([n]) => n === name);
  return pair ? pair[1] : undefined;
}

/** Which part of its pages the fullest node has, at a part of the run's time. */
function largestShare(outcome, part) {
  const pages = outcome.series.find((s) => s.name === "process_pages");
  const end = pages.time_ns[pages.time_ns.length - 1];
  const at = pages.time_ns.findIndex((t) => t >= part * end);
  const sums = {};
  pages.columns.forEach((name, i) => {
    const node = name.slice(name.lastIndexOf("/") + 1);
    sums[node] = (sums[node] ?? 0) + pages.values[i][at];
  });
  const all = Object.values(sums).reduce((a, b) => a + b, 0);
  return Math.max(...Object.values(sums)) / all;
}

const COMPARE = {
  "==": (a, b) => a === b,
  "<=": (a, b) => a <= b,
  ">=": (a, b) => a >= b,
  ">": (a, b) => a > b,
  between: (a, [low, high]) => a >= low && a <= high,
};

/** Whether a claim holds of the outcomes of both sides; `before` are those of the lesson for a claim on its change. */
export function holds(claim, outcomes, before) {
  const value = figure(outcomes[claim.side], claim.figure);
  let against = claim.value;
  if (claim.of) {
    const other = (claim.of.before ? before : outcomes)?.[claim.of.side];
    if (!other) return undefined;
    against = claim.times * figure(other, claim.of.figure);
  }
  if (value === undefined) throw new Error(`no figure ${claim.figure}`);
  return COMPARE[claim.is](value, against);
}
