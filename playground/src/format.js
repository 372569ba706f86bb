// Numbers as people read them.

/** Bytes with a unit, at most four digits. */
export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let [value, at] = [n, 0];
  while (value >= 1024 && at < units.length - 1) [value, at] = [value / 1024, at + 1];
  return `${value >= 100 || Number.isInteger(value) ? Math.round(value) : value.toFixed(1)} ${units[at]}`;
}

/** A count with a space between thousands. */
export const count = (n) => Math.round(n).toString().replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");

/** A count in at most four characters. */
export function short(n) {
  for (const [unit, size] of [["M", 1e6], ["k", 1e3]]) {
    if (n >= size) return `${(n / size).toFixed(n >= 10 * size ? 0 : 1)}\u00a0${unit}`;
  }
  return String(Math.round(n));
}

/** Model time: seconds with as many digits as tell two instants apart. */
export function time(ns, span = ns) {
  if (span >= 1e9) return `${(ns / 1e9).toFixed(2)} s`;
  if (span >= 1e6) return `${(ns / 1e6).toFixed(2)} ms`;
  return `${(ns / 1e3).toFixed(1)} µs`;
}
