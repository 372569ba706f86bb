// Elements are made without markup: text is never parsed as HTML.

type Attributes = Record<string, string | number | boolean>;

/** An element with attributes and children. Strings become text nodes. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) e.setAttribute(name, "");
    else if (value !== false) e.setAttribute(name, String(value));
  }
  e.append(...children);
  return e;
}

/** A labelled choice. */
export function choice(label: string, options: string[], chosen: number, pick: (index: number) => void): HTMLElement {
  const select = el("select", { "aria-label": label });
  options.forEach((text, i) => select.append(el("option", { value: i, selected: i === chosen }, text)));
  select.addEventListener("change", () => pick(Number(select.value)));
  return el("label", { class: "choice" }, label, " ", select);
}

/** A small button, with a name for screen readers. */
export function button(text: string, label: string, act: () => void): HTMLElement {
  const b = el("button", { type: "button", "aria-label": label, title: label }, text);
  b.addEventListener("click", act);
  return b;
}
