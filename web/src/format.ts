// Figures for people.

/** About four significant digits; from 10 000 on with k, M, G, T. */
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
  if (size >= 100) return x.toFixed(1);
  if (size >= 1) return x.toFixed(2);
  return String(Number(x.toPrecision(3)));
}

/** A tick of an axis: as short as it can be. */
export function tick(x: number): string {
  const size = Math.abs(x);
  for (const [one, suffix] of [
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ] as const) {
    if (size >= one) return String(Number((x / one).toPrecision(3))) + suffix;
  }
  return String(Number(x.toPrecision(3)));
}

/** Seconds since the start. */
export function seconds(t: number): string {
  return `${t < 10 ? t.toFixed(2) : t.toFixed(1)} s`;
}

/** A unit in which the largest value is easy to read, and what to divide MiB by. */
export function memoryUnit(peakMiB: number): { unit: string; by: number } {
  return peakMiB >= 2048 ? { unit: "GiB", by: 1024 } : { unit: "MiB", by: 1 };
}
