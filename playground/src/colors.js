// Colours of the style, read once per theme. A node has the same colour here as in the HTML report.

const NODES = 32;
const NAMES = ["ink", "muted", "line", "surface", "raised", "empty", "accent", "bad", "good", "spark"];
let known = null;

/** Forgets the colours: the theme has changed. */
export function forget() {
  known = null;
}

/** Colours by name, and those of nodes as `node[i]` with the ink that stands on them as `on[i]`. */
export function colors() {
  if (known) return known;
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  const of = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  known = Object.fromEntries(NAMES.map((n) => [n, of(n)]));
  known.node = Array.from({ length: NODES }, (_, i) => of(`n${i}`));
  known.on = known.node.map((c) => (luminance(c) > 0.3 ? "#0b0f14" : "#ffffff"));
  probe.remove();
  return known;
}

function luminance(css) {
  const [r, g, b] = css.match(/[\d.]+/g).slice(0, 3).map((x) => x / 255);
  const linear = (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

/** The colour of a node; nodes beyond the last colour use them again from the first. */
export const nodeColor = (node) => colors().node[node % NODES];
export const onNode = (node) => colors().on[node % NODES];
