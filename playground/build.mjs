// Builds the page into a folder of static files that also works from disk: `node build.mjs MODULE FOLDER`. Scripts become one
// file, since a page from disk may load no modules; the simulator is gzipped and stands in a script as text, for the same reason.
import { copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
// The bundler is that of the report's script.
const { build } = createRequire(join(here, "..", "web", "package.json"))("esbuild");
const [module, folder] = process.argv.slice(2);
/** Most that the page may take on the way to a reader, compressed, bytes. */
const MOST = 1_500_000;

async function bundle(entry, define = {}) {
  const options = { bundle: true, minify: true, format: "iife", target: "es2022", charset: "utf8", legalComments: "none", write: false };
  const result = await build({ absWorkingDir: here, entryPoints: [entry], loader: { ".toml": "text" }, define, ...options });
  return result.outputFiles[0].text;
}

mkdirSync(folder, { recursive: true });
const worker = await bundle("src/worker.js");
const files = {
  "app.js": await bundle("src/main.js", { WORKER: JSON.stringify(worker) }),
  // With the colours of the report, which it imports.
  "style.css": await bundle("style.css"),
  "numalab.js": `globalThis.NUMALAB_MODULE="${gzipSync(readFileSync(module), { level: 9 }).toString("base64")}";\n`,
};
for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
copyFileSync(join(here, "index.html"), join(folder, "index.html"));
const names = [...Object.keys(files), "index.html"];
const sent = names.map((n) => gzipSync(readFileSync(join(folder, n)), { level: 9 }).length).reduce((a, b) => a + b, 0);
const all = names.map((n) => statSync(join(folder, n)).size).reduce((a, b) => a + b, 0);
console.log(`playground: ${all} bytes in ${names.length} files, ${sent} compressed`);
if (sent > MOST) {
  console.error(`playground: ${sent} bytes compressed; expected at most ${MOST}`);
  process.exitCode = 1;
}
