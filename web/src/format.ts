// Numbers as text.

/** Four significant digits; from 10 000 on with k, M, G, T. */
export function human(x: number): string {
  const size = Math.abs(x);
  for (const [from, one, suffix] of [
    [1e12, 1e12, "\u00a0T"],
    [1e9, 1e9, "\u00a0G"],
    [1e6, 1e6, "\u00a0M"],
    [1e4, 1e3, "\u00a0k"],
  ] as const) {
    if (size >= from) return plain(x / one) + suffix;
  }
  return plain(x);
}

function plain(x: number): string {
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (Number.isInteger(x) && size < 1e4) return String(x);
  return size >= 1000 ? x.toFixed(0) : x.toPrecision(4);
}

/** Ticks of an axis, all with the suffix of the largest one and the digits that their step needs. */
export function ticks(values: number[]): string[] {
  const top = Math.max(...values.map(Math.abs));
  for (const [one, suffix] of [
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ] as const) {
    if (top >= one) return fixed(values.map((v) => v / one)).map((text) => (text === "0" ? text : text + suffix));
  }
  return fixed(values);
}

/** Ticks of a time axis, s, without a suffix for thousands. */
export function instants(values: number[]): string[] {
  return fixed(values).map((text) => `${text} s`);
}

/** Distances of ticks in units of memory are powers of 2, as in 256, 512, 768 MiB. */
export const BINARY_STEPS = Array.from({ length: 31 }, (_, i) => 2 ** (i - 10));

/** Ticks of an axis of memory, without a suffix for thousands, as the unit is the largest that fits. */
export function sizes(values: number[]): string[] {
  return fixed(values);
}

/** Most digits behind the point before a power of ten is shorter. */
const MOST_DIGITS = 6;

/** Numbers that stand beside each other, with as many digits behind the point as their step needs. */
function fixed(values: number[]): string[] {
  const step = Math.min(...values.map((v, i) => Math.abs(v - (values[i - 1] ?? 0))).filter((d) => d > 0));
  const whole = (x: number) => Math.abs(x - Math.round(x)) < 1e-4 * Math.min(x, 1);
  let digits = 0;
  while (digits <= MOST_DIGITS && Number.isFinite(step) && !whole(step * 10 ** digits)) digits++;
  return values.map((v) => (v === 0 ? "0" : digits > MOST_DIGITS ? String(Number(v.toPrecision(3))) : v.toFixed(digits)));
}

/** Seconds since the start. */
export function seconds(t: number): string {
  return `${t < 10 ? t.toFixed(2) : t.toFixed(1)} s`;
}

/** A unit in which the largest value is easy to read, and what to divide MiB by. */
export function memoryUnit(peakMiB: number): { unit: string; by: number } {
  if (peakMiB >= 1024 ** 2) return { unit: "TiB", by: 1024 ** 2 };
  return peakMiB >= 1024 ? { unit: "GiB", by: 1024 } : { unit: "MiB", by: 1 };
}
