// Prints the colours of nodes 8 to 31 for src/colours.css: `node palette.mjs`. Each is as far as it can be, in Oklab, from the
// eight named ones, from those before it and from the grounds that it stands on, among colours with enough contrast.

const COUNT = 32;
/** Named colours, then the grounds that colours must be told from, then the least and the greatest lightness. */
const THEMES = {
  light: [["#1b6cb5", "#d66a08", "#0b8a66", "#b02e7d", "#6a4dc2", "#847300", "#0a8aa8", "#7b4a22"], ["#ffffff", "#e9edf2", "#141a22"], [0.28, 0.72]],
  dark: [["#68b1ee", "#f5a04d", "#4dd1a6", "#f083c3", "#ad98f7", "#d9c94f", "#52d2ea", "#d29f70"], ["#161b22", "#222a34", "#e6ebf2"], [0.52, 0.94]],
};
/** Against the surface, WCAG; lines and squares need it to be seen. */
const CONTRAST = 3;
/** Greatest chroma: glaring colours would be read as a warning. */
const CHROMA = 0.24;

const linear = (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
const channels = (hex) => [1, 3, 5].map((at) => linear(parseInt(hex.slice(at, at + 2), 16) / 255));
const luminance = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;

function oklab([r, g, b]) {
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function palette(named, grounds, [least, greatest]) {
  const surface = luminance(channels(grounds[0]));
  const candidates = [];
  const steps = Array.from({ length: 32 }, (_, i) => Math.round((i * 255) / 31));
  for (const r of steps) for (const g of steps) for (const b of steps) {
    const hex = `#${[r, g, b].map((x) => x.toString(16).padStart(2, "0")).join("")}`;
    const [y, lab] = [luminance(channels(hex)), oklab(channels(hex))];
    const contrast = (Math.max(y, surface) + 0.05) / (Math.min(y, surface) + 0.05);
    if (contrast >= CONTRAST && lab[0] >= least && lab[0] <= greatest && Math.hypot(lab[1], lab[2]) <= CHROMA) candidates.push({ hex, lab, near: Infinity });
  }
  const keepAway = (lab) => {
    for (const c of candidates) c.near = Math.min(c.near, Math.hypot(...c.lab.map((x, i) => x - lab[i])));
  };
  for (const hex of [...named, ...grounds]) keepAway(oklab(channels(hex)));
  const out = [...named];
  while (out.length < COUNT) {
    const best = candidates.reduce((a, b) => (b.near > a.near ? b : a));
    out.push(best.hex);
    keepAway(best.lab);
  }
  return out;
}

const [light, dark] = [palette(...THEMES.light), palette(...THEMES.dark)];
for (let n = 8; n < COUNT; n++) console.log(`  --n${n}: light-dark(${light[n]}, ${dark[n]});`);
