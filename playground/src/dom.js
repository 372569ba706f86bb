// Small helpers for elements.

/** An element with attributes and children; `on…` attributes are listeners, `text` is its text. */
export function el(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (name === "text") e.textContent = value;
    else if (name in e && typeof value !== "string") e[name] = value;
    else e.setAttribute(name, value);
  }
  e.append(...children.filter((c) => c !== undefined && c !== null && c !== false));
  return e;
}

export const $ = (id) => document.getElementById(id);

/** Text with `code` between backquotes as elements. */
export function prose(text) {
  return text.split("`").map((part, i) => (i % 2 ? el("code", { text: part }) : part));
}
