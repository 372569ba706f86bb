// Definitions as tooltips: a link to a definition shows it on hover and on focus.

const GAP = 8;

/** Makes every link of class `term` show its target as a tooltip. */
export function start(): void {
  const tip = document.getElementById("tip");
  if (!tip) return;
  let shown: HTMLElement | null = null;

  const hide = () => {
    shown?.removeAttribute("aria-describedby");
    shown = null;
    tip.hidden = true;
  };
  const show = (link: HTMLElement) => {
    const id = link.getAttribute("href")?.slice(1);
    const definition = id ? document.getElementById(id) : null;
    if (!definition) return;
    hide();
    shown = link;
    link.setAttribute("aria-describedby", "tip");
    tip.replaceChildren(...[...definition.childNodes].map((n) => n.cloneNode(true)));
    tip.hidden = false;
    place(tip, link);
  };
  const term = (event: Event) => (event.target as Element | null)?.closest<HTMLElement>("a.term") ?? null;

  document.addEventListener("mouseover", (e) => {
    const link = term(e);
    if (link) show(link);
    else if (shown && !(e.target as Element).closest("#tip") && document.activeElement !== shown) hide();
  });
  document.addEventListener("focusin", (e) => {
    const link = term(e);
    if (link) show(link);
    else hide();
  });
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape") hide();
  });
  // Moving the focus by keyboard also scrolls. The tooltip follows its link, and is not seen while the link is outside the window.
  const follow = () => {
    if (!shown) return;
    const at = shown.getBoundingClientRect();
    tip.hidden = at.bottom < 0 || at.top > innerHeight;
    if (!tip.hidden) place(tip, shown);
  };
  document.addEventListener("scroll", follow, { passive: true, capture: true });
  document.addEventListener("click", (e) => {
    const link = term(e);
    if (link) open(link);
  });
  addEventListener("hashchange", () => reveal(location.hash));
  reveal(location.hash);
}

/** Opens the group that contains a link's definition, so that the link leads to something visible. */
function open(link: HTMLElement): void {
  reveal(link.getAttribute("href") ?? "");
}

function reveal(hash: string): void {
  const target = hash.length > 1 ? document.getElementById(decoded(hash.slice(1))) : null;
  const group = target?.closest("details");
  if (group) group.open = true;
}

/** A fragment with its escapes decoded; unchanged if an escape is invalid. */
function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

/** Places the tooltip below the link, or above it if there is no room, and inside the window. */
function place(tip: HTMLElement, link: HTMLElement): void {
  const at = link.getBoundingClientRect();
  const size = tip.getBoundingClientRect();
  const left = Math.min(Math.max(at.left, GAP), innerWidth - size.width - GAP);
  const below = at.bottom + GAP / 2;
  const top = below + size.height > innerHeight - GAP ? Math.max(at.top - size.height - GAP / 2, GAP) : below;
  tip.style.left = `${Math.max(left, GAP)}px`;
  tip.style.top = `${top}px`;
}
