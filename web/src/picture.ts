// The picture at the top of the page: where memory was under the baseline, and under the kernel beside it.

import type { Data } from "./data";
import { Heatmap, Rows } from "./heatmap";
import { kinds, legend, nodeCount, specOf } from "./maps";
import { Timeline } from "./timeline";

export class Picture {
  private maps: Heatmap[] = [];

  constructor(
    private readonly host: HTMLElement,
    private readonly data: Data,
  ) {
    this.draw();
  }

  /** Redraws both maps, after a change of the theme. */
  draw(): void {
    for (const m of this.maps) m.destroy();
    const { picture, workloads, kernels } = this.data;
    const w = workloads.find((x) => x.name === picture?.workload);
    const kind = w && kinds(w).find((k) => k.id === "page_node" || k.id === "share");
    if (!picture || !w || !kind) return this.host.replaceChildren();
    const timeline = new Timeline(w.end, w.step, w.points);
    const specs = picture.kernels.flatMap((kernel) => {
      const spec = w.runs.filter((r) => r.kernel === kernel).map((r) => specOf(kind, kernels[kernel] ?? "", r, w.step));
      return spec.find((s) => s !== null) ?? [];
    });
    const rows = new Rows(Math.max(1, ...specs.map((s) => s.rows.length)));
    this.maps = specs.map((s) => new Heatmap(s, rows, timeline));
    const grid = document.createElement("div");
    grid.className = "grid";
    grid.append(...this.maps.map((m) => m.element));
    this.host.replaceChildren(legend(kind, nodeCount(w), specs.some((s) => s.end < w.end)), grid);
    for (const m of this.maps) m.resize();
  }

  /** Whether the maps of these kernels of a workload stand at the top already. */
  static shows(data: Data, workload: string, kernels: number[]): boolean {
    const p = data.picture;
    return p?.workload === workload && kernels.every((k) => p.kernels.includes(k));
  }
}
