// The panel of a lesson: its steps, what to look at, the change that the reader makes, and what can be claimed.

import { $, el, prose } from "./dom.js";
import { holds } from "./lessons.js";

/** The links to lessons in the header. */
export function links(lessons, current) {
  const link = (l, i) => {
    const a = el("a", { href: `#lesson=${l.id}`, title: l.title }, el("b", { text: String(i + 1) }), el("span", { text: l.short }));
    if (l.id === current) a.setAttribute("aria-current", "page");
    return a;
  };
  const free = el("a", { href: "#free" }, el("span", { text: "Free play" }));
  if (!current) free.setAttribute("aria-current", "page");
  $("lessons").replaceChildren(...lessons.map(link), free);
  $("lessons").querySelector("[aria-current]")?.scrollIntoView?.({ block: "nearest", inline: "center" });
}

/** What the page says without a lesson. */
export function welcome(lessons) {
  const card = (l, i) => el("a", { class: "lesson-card", href: `#lesson=${l.id}` }, el("b", { text: String(i + 1) }), el("span", {}, el("strong", { text: l.title }), el("small", { text: l.question })));
  $("lesson").replaceChildren(
    el("h1", { text: "Watch Linux balance memory" }),
    el("p", {}, "Two kernels run the same program on the same machine, simulated page by page. Blocks are memory, and their colour is the node that holds them. Discs are threads."),
    el("p", { class: "muted", text: "Press Play, or take a lesson. Each takes five minutes and ends with a change that you make." }),
    el("div", { class: "cards" }, ...lessons.map(card)));
}

export class LessonPanel {
  /** `go` is called with the number of a step, `change` when the reader makes the change, `back` to take it back. */
  constructor(actions) {
    this.actions = actions;
  }

  /** Shows a step of a lesson; the step behind the last one is the change. */
  show(lesson, number, at, changed) {
    this.lesson = lesson;
    const last = lesson.steps.length;
    const step = lesson.steps[at];
    const dots = Array.from({ length: last + 1 }, (_, i) => {
      const title = i < last ? lesson.steps[i].title : "Your change";
      const b = el("button", { type: "button", class: "dot", "aria-label": `Step ${i + 1}: ${title}`, onclick: () => this.actions.go(i) });
      if (i === at) b.setAttribute("aria-current", "step");
      return b;
    });
    const body = step
      ? [el("h2", { text: step.title }), ...step.text.map((t) => el("p", {}, ...prose(t))), el("p", { class: "look" }, el("b", { text: "Look: " }), ...prose(step.look))]
      : this.#change(lesson, changed);
    const next = at < last && el("button", { type: "button", class: "primary", id: "next", text: at === last - 1 ? "Your turn: make a change" : "Next", onclick: () => this.actions.go(at + 1) });
    const play = at < last && el("button", { type: "button", id: "replay", text: "Play this step", onclick: () => this.actions.replay() });
    const before = at > 0 && el("button", { type: "button", id: "before", text: "Back", onclick: () => this.actions.go(at - 1) });
    // Who works with the keyboard stays where they were.
    const focused = $("lesson").contains(document.activeElement);
    $("lesson").replaceChildren(
      el("p", { class: "eyebrow", text: `Lesson ${number} of 6` }),
      el("h1", { text: lesson.title }),
      at === 0 ? el("p", { class: "question", text: lesson.question }) : "",
      ...body,
      el("div", { class: "row" }, before, play, next, el("span", { class: "dots", role: "group", "aria-label": "Steps" }, ...dots)),
      el("div", { id: "claims" }));
    if (focused) ($("next") ?? $("change") ?? $("unchange"))?.focus();
  }

  #change(lesson, changed) {
    const c = lesson.change;
    const make = el("button", { type: "button", class: "primary", id: "change", text: c.label, onclick: () => this.actions.change() });
    const back = el("button", { type: "button", id: "unchange", text: "Take it back", onclick: () => this.actions.back() });
    return [
      el("h2", { text: "Your turn" }),
      ...c.text.map((t) => el("p", {}, ...prose(t))),
      changed ? el("p", { class: "look" }, el("b", { text: "What came out: " }), ...prose(c.after)) : "",
      el("div", { class: "row" }, changed ? back : make),
    ];
  }

  /** What is claimed of these outcomes, each with whether it holds. */
  claims(outcomes, before, changed) {
    const list = changed ? this.lesson.change.claims : this.lesson.claims;
    const item = (claim) => {
      const ok = holds(claim, outcomes, before);
      const word = ok === undefined ? "" : ok ? "holds" : "does not hold";
      return el("li", { class: ok === undefined ? "open" : ok ? "ok" : "not" }, claim.text, word && el("span", { class: "hidden", text: ` (${word})` }));
    };
    $("claims").replaceChildren(el("h3", { text: "What this run shows" }), el("ul", { class: "claims" }, ...list.map(item)));
  }
}
