// The cursor and the view that all charts and maps share.

export type Listener = () => void;

export class Timeline {
  /** Instant under the cursor, s; null if there is none. */
  cursor: number | null = null;
  /** First and last instant in view, s. */
  view: [number, number];
  private listeners: Listener[] = [];

  constructor(
    /** End of the longest run, s. */
    readonly end: number,
    /** Width of a point, s. */
    readonly step: number,
    /** Number of points. The last one ends with the longest run. */
    private readonly points: number,
  ) {
    this.view = [0, end];
  }

  /** Registers a function that is called whenever cursor or view change. */
  listen(listener: Listener): void {
    this.listeners.push(listener);
  }

  /** Index of the point under the cursor among `points` points, the last of which ends at `end`; null if there is none. */
  index(points: number, end: number): number | null {
    if (this.cursor === null || this.cursor > end || points === 0) return null;
    return Math.min(Math.floor(this.cursor / this.step), points - 1);
  }

  /** Middle of the first point, s. */
  private get first(): number {
    return Math.min(this.step, this.end) / 2;
  }

  /** Middle of the last point, s. */
  private get last(): number {
    return ((this.points - 1) * this.step + this.end) / 2;
  }

  setCursor(t: number | null): void {
    const at = t === null ? null : Math.min(Math.max(t, 0), this.end);
    if (at === this.cursor) return;
    this.cursor = at;
    this.notify();
  }

  /** Shows an interval of time, of at least four points. */
  setView(from: number, to: number): void {
    const width = Math.min(Math.max(to - from, 4 * this.step), this.end);
    const start = Math.min(Math.max(from, 0), this.end - width);
    if (Math.abs(start - this.view[0]) < 1e-9 && Math.abs(start + width - this.view[1]) < 1e-9) return;
    this.view = [start, start + width];
    this.notify();
  }

  reset(): void {
    this.setView(0, this.end);
  }

  /** Zooms by a factor, around the cursor if it is in view, else around the middle of the view. */
  zoom(factor: number): void {
    const [a, b] = this.view;
    const c = this.cursor;
    const around = c !== null && c >= a && c <= b ? c : (a + b) / 2;
    this.setView(around - (around - a) * factor, around + (b - around) * factor);
  }

  /** Moves the cursor by some points. The view follows if the cursor would leave it. */
  move(points: number): void {
    const [a, b] = this.view;
    const from = this.cursor ?? (points > 0 ? a : b) - points * this.step + this.step / 2;
    const t = Math.min(Math.max(from + points * this.step, this.first), this.last);
    if (t < a) this.setView(t - this.step, t - this.step + (b - a));
    if (t > b) this.setView(t + this.step - (b - a), t + this.step);
    this.setCursor(t);
  }

  /** Handles the keys that charts and maps have in common. Returns whether the key was one of them. */
  key(event: KeyboardEvent): boolean {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const far = event.shiftKey ? 10 : 1;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => this.move(-far),
      ArrowRight: () => this.move(far),
      Home: () => this.setCursor(this.first),
      End: () => this.setCursor(this.last),
      "+": () => this.zoom(0.5),
      "=": () => this.zoom(0.5),
      "-": () => this.zoom(2),
      "0": () => this.reset(),
      Escape: () => this.setCursor(null),
    };
    const action = actions[event.key];
    if (!action) return false;
    event.preventDefault();
    action();
    return true;
  }

  private notify(): void {
    for (const listener of this.listeners) listener();
  }
}
