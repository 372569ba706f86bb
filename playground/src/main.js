// The page: joins the set-up, the two sides, the clock, the picture, the form and the lessons.

import { forget } from "./colors.js";
import { Controls } from "./controls.js";
import { $, el } from "./dom.js";
import { FILES, LESSONS } from "./files.js";
import { KIND } from "./frames.js";
import { time } from "./format.js";
import { setupOf } from "./lessons.js";
import { unpack } from "./module.js";
import { LessonPanel, links, welcome } from "./panel.js";
import { Player, SPEEDS } from "./player.js";
import { Scene } from "./scene.js";
import { command, first, fromFragment, requests, sideName, toFragment } from "./setup.js";
import { Side } from "./side.js";
import { sentence, table } from "./table.js";
import * as theme from "./theme.js";
import { Timeline } from "./timeline.js";

const state = {
  setup: first(),
  /** The lesson, the step that is shown, whether its change was made, and the outcomes before it. */
  lesson: null,
  step: 0,
  changed: false,
  before: null,
  /** Where a step of a lesson stops the clock, ns. */
  stopNs: Infinity,
  answered: false,
};
let sides = [];
let scenes = [];
let controls = null;
let timeline = null;
const active = () => sides.slice(0, state.setup.sides.length);
const player = new Player(active);
const names = () => state.setup.sides.map(sideName);

/** A worker from the script that the page holds: a page from disk cannot load one from a file. */
function makeWorker() {
  return new Worker(URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" })));
}

async function boot() {
  theme.start(() => {
    forget();
    drawKey();
  });
  const bytes = await unpack(globalThis.NUMALAB_MODULE);
  sides = [0, 1].map(() => new Side(makeWorker, bytes, (what) => received(what)));
  timeline = new Timeline($("lines"));
  for (const [i, speed] of SPEEDS.entries()) {
    const text = speed === Infinity ? "as fast as it can" : speed < 1 ? `${speed * 1000 < 1 ? speed * 1e6 + " µs" : speed * 1000 + " ms"} a second` : `${speed} s a second`;
    $("speed").append(el("option", { value: String(i), text }));
  }
  setSpeed(1);
  const offer = await sides[1].ask("offer");
  $("version").textContent = `numalab ${offer.version}.`;
  controls = new Controls(offer, change);
  controls.onedit = async (workload) => change({ ...structuredClone(state.setup), workloadText: await sides[1].ask("workloadText", workload) });
  listen();
  if (/\/playground\//.test(location.pathname) && !location.pathname.includes("/target/playground/")) $("docs").hidden = false;
  follow();
  requestAnimationFrame(frame);
  document.documentElement.dataset.ready = "true";
}

const speed = () => SPEEDS[Number($("speed").value)];
const setSpeed = (s) => ($("speed").value = String(SPEEDS.reduce((best, x, i) => (Math.abs(x - s) < Math.abs(SPEEDS[best] - s) ? i : best), 0)));

/** Does what the link says. */
function follow() {
  const fragment = location.hash.slice(1);
  const s = fromFragment(fragment);
  const lesson = LESSONS.find((l) => l.id === s.lesson) ?? null;
  state.lesson = lesson;
  state.step = 0;
  state.changed = false;
  state.before = null;
  const bare = lesson && !new URLSearchParams(fragment).has("machine");
  begin(bare ? setupOf(lesson, FILES) : s);
  showPanel();
  if (lesson) atStep(0, false);
}

/** Begins the runs of a set-up. */
function begin(setup, play = false) {
  state.setup = setup;
  state.answered = false;
  state.stopNs = Infinity;
  $("wrong").hidden = true;
  $("verdict").hidden = true;
  $("claims")?.replaceChildren();
  player.reset();
  player.playing = play;
  buildSides();
  requests(setup).forEach((asked, i) => sides[i].start(asked));
  sides.slice(setup.sides.length).forEach((s) => s.stop());
  controls.show(setup);
  $("command").textContent = command(setup);
}

/** The reader has changed something in the form. */
function change(setup) {
  const kept = state.lesson && state.setup.lesson === setup.lesson ? setup : { ...setup, lesson: "" };
  begin(kept, player.playing);
  history.replaceState(null, "", `#${toFragment(kept)}`);
}

function buildSides() {
  const figure = (name, i) => {
    const canvas = el("canvas", { role: "img", tabindex: "0" });
    return el("figure", { class: "side" }, el("figcaption", {}, el("b", { class: `letter l${i}`, text: "AB"[i] }), el("span", { class: "name", text: name }), el("span", { class: "count" })), el("div", { class: "canvas" }, canvas));
  };
  $("sides").replaceChildren(...names().map(figure));
  $("sides").dataset.sides = String(state.setup.sides.length);
  scenes = [...$("sides").querySelectorAll("canvas")].map((canvas) => new Scene(canvas));
  drawKey();
}

/** Something came from a worker. */
function received(what) {
  if (what === "wrong") {
    const side = active().find((s) => s.wrong);
    $("wrong").textContent = side?.wrong ?? "";
    $("wrong").hidden = !side;
    player.playing = false;
  }
  if (what === "opening") {
    active().forEach((side, i) => side.opening && scenes[i] && scenes[i].opening !== side.opening && scenes[i].open(side.opening));
    // The first look is drawn before anybody presses Play.
    active().forEach((s) => s.want(0, 1));
    drawKey();
  }
  if (what === "outcome" && active().every((s) => s.outcome) && !state.answered) answer();
}

/** What the command would say below its runs. */
async function answer() {
  state.answered = true;
  const [setup, mine] = [state.setup, active()];
  const kernels = names().map((name, i) => `[${JSON.stringify(name)},[${mine[i].outcome}]]`).join(",");
  const workload = mine[0].opening.workload.name;
  const machine = mine[0].opening.machine.name;
  const text = `{"machine":${JSON.stringify(machine)},"workload":${JSON.stringify(workload)},"seeds":[${setup.seed}],"kernels":[${kernels}]}`;
  const lines = await sides[0].ask("answerText", text);
  if (state.setup !== setup) return;
  state.lines = lines;
  showAnswer();
}

/** The answer is shown when the clock has come to the end, so that it does not tell the end before. */
function showAnswer() {
  if (!state.answered || !state.lines || !player.done || !$("verdict").hidden) return;
  const rows = state.lines.filter(([, text]) => text).map(([label, text]) => el("div", {}, el("dt", { text: label }), el("dd", { text })));
  $("verdict").replaceChildren(el("h2", { text: "Verdict" }), el("dl", {}, ...rows));
  $("verdict").hidden = false;
  if (state.lesson && (state.changed || state.setup.lesson)) {
    const outcomes = active().map((s) => JSON.parse(s.outcome));
    const plain = JSON.stringify(requests(state.setup)) === JSON.stringify(requests(setupOf(state.lesson, FILES, state.changed)));
    if (plain) panel.claims(outcomes, state.before, state.changed);
    if (plain && !state.changed) state.before = outcomes;
  }
}

const panel = new LessonPanel({
  go: (step) => {
    state.step = step;
    showPanel();
    atStep(step, true);
  },
  replay: () => {
    player.seek(startOf(state.step));
    atStep(state.step, true);
  },
  change: () => {
    state.changed = true;
    begin(setupOf(state.lesson, FILES, true), true);
    setSpeed(2);
    showPanel();
  },
  back: () => {
    state.changed = false;
    begin(setupOf(state.lesson, FILES), false);
    showPanel();
  },
});

function showPanel() {
  links(LESSONS, state.lesson?.id);
  document.title = state.lesson ? `${state.lesson.title} · numalab playground` : "numalab playground";
  if (!state.lesson) welcome(LESSONS);
  else panel.show(state.lesson, LESSONS.indexOf(state.lesson) + 1, state.step, state.changed);
}

/** Where a step begins: where the one before it ended, ns. */
const startOf = (number) => Math.max(0, ...state.lesson.steps.slice(0, number).map((s) => (s.until_s ?? 0) * 1e9));

/** Sets speed and stop of a step; plays if asked to. */
function atStep(number, play) {
  const step = state.lesson?.steps[number];
  if (!step) {
    state.stopNs = Infinity;
    return;
  }
  setSpeed(step.speed);
  const fromNs = startOf(number);
  state.pending = step.seek ? { event: step.seek, beforeNs: (step.before_ms ?? 0) * 1e6, forNs: (step.until_ms ?? 10) * 1e6 } : play && player.t < fromNs ? { toNs: fromNs } : null;
  state.stopNs = step.seek ? Infinity : step.until_s ? step.until_s * 1e9 : Infinity;
  if (play) {
    if (player.t >= state.stopNs || player.done) player.seek(fromNs);
    player.playing = true;
  }
}

/** Whether the clock has to be put elsewhere, and the run has still to come there: to an instant, or an event of a step. */
function seekEvent() {
  const wanted = state.pending;
  if (!wanted || !player.playing) return false;
  if (wanted.toNs !== undefined) {
    if (player.frontier < wanted.toNs && !player.active.every((s) => s.over)) return true;
    state.pending = null;
    player.seek(wanted.toNs);
    return false;
  }
  const kind = wanted.event === "scan" ? KIND.scanned : KIND.fault;
  for (const f of active()[0].frames.list) {
    const e = f.events.find((x) => x[1] === kind && x[7] >= 0);
    if (e) {
      state.pending = null;
      player.seek(Math.max(0, e[0] - wanted.beforeNs));
      state.stopNs = e[0] + wanted.forNs;
      return false;
    }
  }
  return true;
}

let lastMs = 0;
let labelMs = 0;
/** What each frame took of the page's thread, ms. */
const drawMs = [];

function frame(nowMs) {
  const began = performance.now();
  draw(nowMs);
  if (drawMs.length < 10_000) drawMs.push(performance.now() - began);
  requestAnimationFrame(frame);
}

function draw(nowMs) {
  const seconds = Math.min(0.1, (nowMs - lastMs) / 1000);
  lastMs = nowMs;
  // On the way to an event the run goes on unseen, in steps that are short enough for slow motion.
  if (seekEvent()) {
    for (const side of player.active) {
      if (state.pending.toNs === undefined) side.want(Math.round(side.frontierNs + 2e7), 250_000);
      else side.want(state.pending.toNs + 3e7, 2e7);
    }
    if (player.active.length && player.active.every((s) => s.over)) state.pending = null;
  } else {
    player.tick(seconds, speed());
  }
  if (player.playing && player.t >= state.stopNs) {
    player.seek(state.stopNs);
    player.playing = false;
    state.stopNs = Infinity;
  }
  if (player.done) showAnswer();
  active().forEach((side, i) => scenes[i]?.draw(side.frames, player.t, nowMs));
  timeline.draw(active(), names(), player.t, player.end);
  $("play").textContent = player.playing ? "Pause" : player.done ? "Play again" : "Play";
  $("clock").textContent = time(player.t, Math.max(player.end, 1e9));
  if (document.activeElement !== $("scrub") || player.playing) $("scrub").value = String(player.end ? Math.round((1000 * player.t) / player.end) : 0);
  if (nowMs - labelMs > 400) {
    labelMs = nowMs;
    label();
  }
}

/** Texts that need not change sixty times a second. */
function label() {
  const all = names();
  active().forEach((side, i) => {
    const figure = $("sides").children[i];
    if (!figure) return;
    figure.querySelector("canvas").setAttribute("aria-label", sentence(side, all[i], player.t));
    const f = side.frames.at(player.t);
    figure.querySelector(".count").textContent = f ? `${Math.round(f.counts[0]).toLocaleString("en")} faults, ${Math.round(f.counts[2]).toLocaleString("en")} pages moved` : "";
  });
  $("scrub").setAttribute("aria-valuetext", time(player.t, Math.max(player.end, 1e9)));
  if ($("table").open && active()[0].opening) table(active(), all, player.t);
}

function drawKey() {
  const machine = active().find((s) => s.opening)?.opening.machine;
  const node = (n, i) => el("span", {}, el("i", { class: "swatch", style: `background:var(--n${i % 32})` }), `node ${n.id}`);
  $("key").replaceChildren(
    ...(machine?.nodes ?? []).slice(0, 8).map(node),
    el("span", {}, el("i", { class: "swatch hatched" }), "marked: the next access faults"),
    el("span", {}, el("i", { class: "disc" }), "thread, in the colour of the node it prefers"),
    el("span", {}, el("i", { class: "ring" }), "fault that moved nothing"),
    el("span", {}, el("i", { class: "bracket" }), "where the next scan begins"));
}

function toggle() {
  if (player.done) player.seek(0);
  player.playing = !player.playing;
}

function listen() {
  addEventListener("hashchange", follow);
  addEventListener("resize", () => scenes.forEach((s) => s.resize()));
  $("home").addEventListener("click", (e) => {
    e.preventDefault();
    history.pushState(null, "", location.pathname);
    follow();
  });
  $("play").addEventListener("click", toggle);
  $("restart").addEventListener("click", () => player.seek(0));
  $("scrub").addEventListener("input", () => {
    player.playing = false;
    player.seek((Number($("scrub").value) / 1000) * player.end);
  });
  $("copy").addEventListener("click", () => copy($("command").textContent, "Copied."));
  $("link").addEventListener("click", () => {
    history.replaceState(null, "", `#${toFragment(state.setup)}`);
    copy(location.href, "The link is in your clipboard and in the address bar.");
  });
  $("form").addEventListener("submit", (e) => e.preventDefault());
  addEventListener("keydown", (e) => {
    if (e.target.closest("input, select, textarea, button, summary, a, pre") || e.ctrlKey || e.metaKey || e.altKey) return;
    const step = Math.max(1e5, player.end / 100);
    const act = { " ": toggle, ArrowLeft: () => player.seek(player.t - step), ArrowRight: () => player.seek(player.t + step), Home: () => player.seek(0), End: () => player.seek(player.end) }[e.key];
    if (!act) return;
    e.preventDefault();
    if (e.key !== " ") player.playing = false;
    act();
  });
}

async function copy(text, said) {
  try {
    await navigator.clipboard.writeText(text);
    $("copied").textContent = said;
  } catch {
    $("copied").textContent = "This browser does not let a page copy: select the text instead.";
  }
}

/** For the tests: what the page knows. */
globalThis.playground = {
  state,
  player,
  drawMs,
  outcomes: () => active().map((s) => s.outcome),
  ids: () => active().map((s) => s.opening?.id),
  busyMs: () => active().map((s) => s.busyMs),
  requests: () => requests(state.setup),
};

boot().catch((e) => {
  $("wrong").textContent = `The simulator cannot start: ${e.message}`;
  $("wrong").hidden = false;
});
