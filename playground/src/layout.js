// Where things stand on the picture of a side: nodes with their CPUs, and below them memory, region by region.

const GAP = 10;
const HEADER = 24;
const GAUGE = 12;
const LABEL = 17;

/** Rectangles are [x, y, width, height], in CSS px. `roomy` lets memory take more height. */
export function layout(opening, width, roomy) {
  const nodes = nodeCards(opening.machine, width);
  const memory = regions(opening, width, nodes.bottom + GAP + 4, roomy);
  return { width, height: memory.bottom + 6, ...nodes, ...memory };
}

/** Cards of nodes, and a slot for each CPU. */
function nodeCards(machine, width) {
  const n = machine.nodes.length;
  const fit = Math.max(1, Math.floor((width + GAP) / (118 + GAP)));
  let columns = Math.min(n, fit, 8);
  // Rows are as even as they can be: four nodes stand 2 and 2 rather than 3 and 1.
  columns = Math.ceil(n / Math.ceil(n / columns));
  const card = Math.floor((width - 1 - GAP * (columns - 1)) / columns);
  const most = Math.max(1, ...machine.nodes.map((x) => x.cpus.length));
  let slot = 30;
  const perRow = (size) => Math.max(1, Math.floor((card - 16) / size));
  while (slot > 7 && Math.ceil(most / perRow(slot)) * slot > 96) slot -= 1;
  const rows = Math.ceil(most / perRow(slot));
  const height = HEADER + rows * slot + 10 + GAUGE + 8;
  const cards = [];
  const cpus = [];
  machine.nodes.forEach((node, i) => {
    const [x, y] = [(i % columns) * (card + GAP), Math.floor(i / columns) * (height + GAP)];
    cards.push({ box: [x, y, card, height], gauge: [x + 8, y + height - GAUGE - 8, card - 16, GAUGE] });
    const across = Math.min(perRow(slot), node.cpus.length);
    const left = x + (card - across * slot) / 2;
    node.cpus.forEach((cpu, k) => {
      cpus[cpu] = [left + (k % across) * slot, y + HEADER + 4 + Math.floor(k / across) * slot, slot, slot];
    });
  });
  return { cards, cpus, slot, bottom: Math.ceil(n / columns) * (height + GAP) - GAP };
}

/** Boxes of regions in the order of the workload, and a rectangle for each cell. */
function regions(opening, width, top, roomy) {
  const cells = opening.layout.cells;
  const groups = [];
  cells.forEach(([process, region], i) => {
    const last = groups[groups.length - 1];
    if (last && last.process === process && last.region === region) last.end = i + 1;
    else groups.push({ process, region, first: i, end: i + 1 });
  });
  const room = Math.max(roomy ? 330 : 250, Math.min(420, groups.length * 43));
  let size = 28;
  let placed;
  do {
    size -= 1;
    placed = flow(groups, size, width, top);
  } while (size > 5 && placed.bottom - top > room);
  const rects = [];
  for (const g of placed.groups) {
    for (let i = g.first; i < g.end; i++) {
      const k = i - g.first;
      rects[i] = [g.box[0] + (k % g.columns) * size, g.box[1] + LABEL + Math.floor(k / g.columns) * size, size, size];
    }
  }
  const processes = opening.workload.processes;
  const several = opening.layout.processes > 1;
  const named = placed.groups.map((g) => {
    const p = processes[g.process];
    const name = p.regions[g.region].name;
    return { ...g, label: several ? `${p.name} / ${name}` : name, bytes: p.regions[g.region].size_bytes };
  });
  return { groups: named, cells: rects, size, bottom: placed.bottom };
}

/** Boxes beside each other as far as they fit. */
function flow(groups, size, width, top) {
  const most = Math.max(1, Math.floor(width / size));
  let [x, y, high, bottom] = [0, top, 0, top];
  const out = groups.map((g) => {
    const count = g.end - g.first;
    const columns = Math.min(count, most);
    const [w, h] = [columns * size, LABEL + Math.ceil(count / columns) * size];
    if (x > 0 && x + Math.max(w, 48) > width) {
      [x, y, high] = [0, y + high + 5, 0];
    }
    const box = [x, y, Math.max(w, 48), h];
    x += box[2] + GAP;
    high = Math.max(high, h);
    bottom = Math.max(bottom, y + h);
    return { ...g, columns, box };
  });
  return { groups: out, bottom };
}
