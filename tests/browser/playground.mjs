// What the tests of the playground share: the module in Node.js, the native build, and the command.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./page.mjs";
import { setupOf } from "../../playground/src/lessons.js";
import { command } from "../../playground/src/setup.js";
import { Simulator } from "../../playground/src/module.js";

const profile = process.env.NUMALAB_PROFILE ?? "release";
const lessons = join(root, "playground", "lessons");

/** The folder that `make playground` has built. */
export const folder = join(root, "target", "playground");

/** The module as `scripts/playground.sh` has built it. */
export async function module() {
  return WebAssembly.compile(readFileSync(join(root, "target/wasm32-unknown-unknown/page/numalab_wasm.wasm")));
}

/** A new instance of the module. */
export const simulator = async (compiled) => Simulator.of(compiled);

/** The lessons, in order, and the texts that they name. */
export function read() {
  const names = readdirSync(lessons).sort();
  const text = (name) => readFileSync(join(lessons, name), "utf8");
  return {
    list: names.filter((n) => n.endsWith(".json")).map((n) => JSON.parse(text(n))),
    files: Object.fromEntries(names.filter((n) => n.endsWith(".toml")).map((n) => [n, text(n)])),
  };
}

/** The outcome of a request as the native build prints it. */
export function native(asked) {
  const dir = mkdtempSync(join(tmpdir(), "numalab-asked-"));
  const file = join(dir, "asked.json");
  writeFileSync(file, JSON.stringify(asked));
  const built = join(root, "target", profile, "examples", "outcome");
  const cargo = ["run", "--quiet", "--profile", profile, "-p", "numalab-wasm", "--example", "outcome", "--"];
  const [program, first] = existsSync(built) ? [built, []] : [process.env.CARGO ?? "cargo", cargo];
  try {
    return execFileSync(program, [...first, file], { cwd: root, encoding: "utf8", maxBuffer: 2 ** 28 });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Carries out the command line of a set-up in a folder of its own; returns what `compare --json` says and the plans' ids. */
export function onTerminal(setup) {
  const dir = mkdtempSync(join(tmpdir(), "numalab-terminal-"));
  const program = process.env.NUMALAB ?? join(root, "target", profile, "numalab");
  const shell = (line) => execFileSync("bash", ["-c", `set -e\nnumalab() { "${program}" "$@"; }\n${line}`], { cwd: dir, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  try {
    const answer = shell(`${command(setup)} --out records`);
    const runs = JSON.parse(readFileSync(join(dir, "records", "experiment.json"), "utf8")).runs;
    const comparison = JSON.parse(shell("numalab compare records --json"));
    return { answer, ids: runs.map((r) => r.record), comparison };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

export { setupOf };
