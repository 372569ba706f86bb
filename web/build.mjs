// Builds the script and style of the HTML report into crates/report/src/html, or with --check tells whether what is committed
// there is what the sources give. The hash file lets the page allow this script and no other.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "crates", "report", "src", "html");
const licence = readFileSync(join(here, "node_modules", "uplot", "LICENSE"), "utf8").trim();

async function bundle() {
  const result = await build({
    absWorkingDir: here,
    entryPoints: { bundle: "src/main.ts" },
    outdir: "out",
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    write: false,
  });
  const text = (ending) => result.outputFiles.find((f) => f.path.endsWith(ending)).text.trim();
  const script = `/*! numalab report script: built from web/, do not edit here. Contains uPlot:\n${licence}\n*/\n${text(".js")}`;
  const style = `/* numalab report style: built from web/, do not edit here. Contains uPlot's style, MIT, see the script. */\n${text(".css")}`;
  // Either would end the element it is embedded in.
  if (/<\/(script|style)|<!--/i.test(script + style)) {
    throw new Error("the bundle holds a tag that would end its element");
  }
  const hash = createHash("sha256").update(script).digest("base64");
  return { "bundle.js": script, "bundle.css": style, "bundle.sha256": `${hash}\n` };
}

const files = await bundle();
let stale = false;
for (const [name, text] of Object.entries(files)) {
  const path = join(target, name);
  if (process.argv.includes("--check")) {
    if (readFileSync(path, "utf8") !== text) {
      stale = true;
      console.error(`${name} is not what web/src gives: run \`npm run build\` in web/ and commit it`);
    }
  } else {
    writeFileSync(path, text);
    console.log(`${name}: ${Buffer.byteLength(text)} bytes`);
  }
}
process.exitCode = stale ? 1 : 0;
