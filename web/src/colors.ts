// Colours of nodes and kernels in the current theme.

const SVG = "http://www.w3.org/2000/svg";
/** Dashes tell lines apart without colour. */
const DASHES: number[][] = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 5], [12, 4], [1, 5], [8, 3, 2, 3, 2, 3]];
/** Number of colours of nodes in the style; the drawing of the machine (crates/report/src/html/machine.rs) has the same. */
const NODES = 32;
/** One more than there are colours of kernels: colour and dash are the same again only after 42 kernels. */
const KERNEL_DASHES: number[][] = [[], [10, 4], [10, 3, 2, 3], [5, 5], [14, 3, 5, 3], [6, 2], [10, 3, 2, 3, 2, 3]];
const KERNEL_COLORS = 6;

let probe: HTMLElement | null = null;

/** A colour variable of the style as `rgb(…)`; a custom property itself reads back unresolved. */
export function variable(name: string): string {
  if (!probe) {
    probe = document.createElement("span");
    probe.hidden = true;
    document.body.append(probe);
  }
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

/** Colour of a node. Nodes beyond the last colour use them again from the first. */
export function nodeColor(node: number): string {
  return variable(`--n${node % NODES}`);
}

/** Dash of the n-th line. Where colours start again from the first, dashes do not. */
export function dash(n: number): number[] {
  return DASHES[(n + Math.floor(n / NODES)) % DASHES.length] ?? [];
}

/** Dash of a kernel; the baseline is dotted. */
export function kernelDash(kernel: number, baseline: number): number[] {
  if (kernel === baseline) return [2, 3];
  const rank = kernel < baseline ? kernel : kernel - 1;
  return KERNEL_DASHES[rank % KERNEL_DASHES.length] ?? [];
}

/** Colour of a kernel; the baseline is neutral. */
export function kernelColor(kernel: number, baseline: number): string {
  if (kernel === baseline) return variable("--k0");
  const rank = kernel < baseline ? kernel : kernel - 1;
  return variable(`--k${1 + (rank % KERNEL_COLORS)}`);
}

/** A short piece of a line, for legends. */
export function swatch(color: string, dashes: number[]): SVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("width", "26");
  svg.setAttribute("height", "10");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "line");
  const attributes = { x1: 1, y1: 5, x2: 25, y2: 5, stroke: color, "stroke-width": 2.5, "stroke-dasharray": dashes.join(" ") };
  for (const [name, value] of Object.entries(attributes)) line.setAttribute(name, String(value));
  svg.append(line);
  return svg;
}
