// A set-up: what both sides run. It is all that a link carries, and it becomes requests for the module and a command line.

/** @typedef {{kernel: string, set: [string, string][]}} SideSetup */
/** @typedef {{machine: string, machineText: string, workload: string, workloadText: string, param: [string, string][],
 *   set: [string, string][], sides: SideSetup[], seed: number, quiet: boolean, lesson: string}} Setup */

/** The set-up that a page without a link begins with. */
export function first() {
  return {
    machine: "4x1x2x1",
    machineText: "",
    workload: "numa02",
    workloadText: "",
    param: [],
    set: [],
    sides: [{ kernel: "off", set: [] }, { kernel: "6.12", set: [] }],
    seed: 1,
    quiet: false,
    lesson: "",
  };
}

const pairs = (list) => list.map(([name, value]) => `${name}=${value}`).join("\n");
const unpair = (text) =>
  text.split("\n").filter((line) => line.includes("=")).map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]);

/** The fragment of a link. Names are short, and what is as at first is left out. */
export function toFragment(s) {
  const q = new URLSearchParams();
  const put = (key, value, usual = "") => String(value) !== String(usual) && q.set(key, value);
  put("lesson", s.lesson);
  put("machine", s.machine, "");
  put("machine-text", s.machineText);
  put("workload", s.workload, "");
  put("workload-text", s.workloadText);
  put("param", pairs(s.param));
  put("set", pairs(s.set));
  s.sides.forEach((side, i) => {
    put(`kernel${i + 1}`, side.kernel, "");
    put(`set${i + 1}`, pairs(side.set));
  });
  put("seed", s.seed, 1);
  put("quiet", s.quiet ? 1 : 0, 0);
  return q.toString();
}

/** The set-up of a fragment; what it lacks is as at first. */
export function fromFragment(fragment) {
  const q = new URLSearchParams(fragment.replace(/^#/, ""));
  const s = first();
  const text = (key, usual) => q.get(key) ?? usual;
  if (q.has("kernel1")) {
    s.sides = [1, 2].filter((i) => q.has(`kernel${i}`)).map((i) => ({ kernel: q.get(`kernel${i}`), set: unpair(text(`set${i}`, "")) }));
  }
  const seed = Number(text("seed", 1));
  return {
    ...s,
    machine: text("machine", s.machine),
    machineText: text("machine-text", ""),
    workload: text("workload", s.workload),
    workloadText: text("workload-text", ""),
    param: unpair(text("param", "")),
    set: unpair(text("set", "")),
    seed: Number.isSafeInteger(seed) && seed >= 0 ? seed : 1,
    quiet: text("quiet", "0") === "1",
    lesson: text("lesson", ""),
  };
}

/** Whether a side has settings of its own, so that sides are columns of an experiment rather than kernels. */
const hasColumns = (s) => s.sides.some((side) => side.set.length > 0);

/** What the module is asked for: one request for each side. All of them name all sides, as a command line does. */
export function requests(s) {
  const columns = hasColumns(s);
  const sides = s.sides.map((side, i) => ({ kernel: side.kernel, ...(columns ? { name: columnName(side, i), set: side.set } : {}) }));
  return s.sides.map((_, side) => ({
    machine: s.machine,
    ...(s.machineText ? { machine_text: s.machineText } : {}),
    sides,
    side,
    set: s.set,
    workload: s.workload,
    ...(s.workloadText ? { workload_text: s.workloadText } : {}),
    param: s.param,
    seed: s.seed,
    quiet_machine: s.quiet,
  }));
}

/** The name of a side: its kernel, and the settings that it has for itself. */
export function sideName(side) {
  const own = side.set.map(([name, value]) => `${name.replace(/^.*\./, "")} ${value}`).join(", ");
  return own ? `${side.kernel} with ${own}` : side.kernel;
}

const quoted = (text) => (/^[\w./:=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** Name of a column in an experiment file: letters, digits and `._+-=`. */
const columnName = (side, i) => `${side.kernel}-${"ab"[i]}`.replace(/[^\w.+=-]/g, "-");

/** The same on a terminal: lines to paste into a shell. Texts of this page become files first. */
export function command(s) {
  const lines = [];
  const file = (name, text) => lines.push(`cat > ${name} <<'EOF'\n${text.trim()}\nEOF`);
  let machine = s.machine;
  if (s.machineText) {
    const isFile = /^\s*(\[layout\]|extends)/m.test(s.machineText);
    file(isFile ? "machine.toml" : "machine.txt", s.machineText);
    if (!isFile) lines.push("numalab machine import machine.txt --name pasted > machine.toml");
    machine = "./machine.toml";
  }
  if (s.workloadText) file("workload.toml", s.workloadText);
  const workload = s.workloadText ? "./workload.toml" : s.workload;
  const run = ["numalab run"];
  if (hasColumns(s)) {
    file("experiment.toml", experiment(s, machine, workload));
    run.push("experiment.toml");
  } else {
    run.push(`--machine ${quoted(machine)}`, `--kernel ${s.sides.map((side) => quoted(side.kernel)).join(",")}`, `--workload ${quoted(workload)}`);
    run.push(...s.param.map(([name, value]) => `--param ${quoted(`${name}=${value}`)}`));
    run.push(...s.set.map(([name, value]) => `--set ${quoted(`${name}=${value}`)}`));
    if (s.seed !== 1) run.push(`--seed ${s.seed}`);
    if (s.quiet) run.push("--quiet-machine");
  }
  // A page simulates runs to their end.
  run.push("--whole");
  return [...lines, run.join(" ")].join("\n");
}

/** An experiment file, for sides with settings of their own. */
function experiment(s, machine, workload) {
  const string = (text) => JSON.stringify(text);
  const value = (text) => (/^(\d+(\.\d+)?|true|false)$/.test(text) ? text : string(text));
  const table = (list) => `{ ${list.map(([name, text]) => `${string(name)} = ${value(text)}`).join(", ")} }`;
  const column = (side, i) => {
    const set = side.set.length ? `\nset = ${table(side.set)}` : "";
    return `[[column]]\nname = ${string(columnName(side, i))}\nkernel = ${string(side.kernel)}${set}`;
  };
  const set = s.set.length ? `\n[set]\n${s.set.map(([name, text]) => `${name} = ${value(text)}`).join("\n")}\n` : "";
  const params = s.param.length ? `\n[params]\n${s.param.map(([name, text]) => `${name} = ${value(text)}`).join("\n")}\n` : "";
  return `name = "experiment"\ntitle = "From the playground"\nmachines = [${string(machine)}]\nworkloads = [${string(workload)}]\n` +
    `${s.seed !== 1 ? `seed = ${s.seed}\n` : ""}${s.quiet ? "quiet_machine = true\n" : ""}${set}${params}\n${s.sides.map(column).join("\n\n")}\n`;
}
