// A headless Chromium with the pages of the example, and what every test needs from it.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
export const root = join(here, "..", "..");

const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Writes an example page and the same comparison as JSON; gives the folder. */
export function example(kind) {
  const dir = mkdtempSync(join(tmpdir(), "numalab-page-"));
  const cargo = process.env.CARGO ?? "cargo";
  const run = ["run", "--quiet", "-p", "numalab-report", "--example", "html_demo", "--", dir];
  execFileSync(cargo, kind ? [...run, kind] : run, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  return {
    url: pathToFileURL(join(dir, "report.html")).href,
    json: JSON.parse(readFileSync(join(dir, "report.json"), "utf8")),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

/** A browser with a profile of its own, made anew. */
export function browser() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: ARGUMENTS });
}

/** Opens a page and keeps everything that should not happen: errors, warnings, requests to anywhere else. */
export async function open(b, url, { width = 1280, height = 900, scheme = "light", ...more } = {}) {
  const context = await b.newContext({ viewport: { width, height }, colorScheme: scheme, offline: true, ...more });
  const page = await context.newPage();
  const trouble = [];
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && trouble.push(`${m.type()}: ${m.text()}`));
  page.on("pageerror", (e) => trouble.push(`uncaught: ${e.message}`));
  page.on("dialog", (d) => trouble.push(`dialog: ${d.message()}`) && d.dismiss());
  page.on("request", (r) => r.url() !== url && !r.url().startsWith("data:") && trouble.push(`request: ${r.url()}`));
  await page.goto(url);
  if (more.javaScriptEnabled !== false) await page.waitForSelector("html[data-ready=true]");
  return { page, trouble, close: () => context.close() };
}

/** A printed figure such as "150.5 M" as a number. */
export function figure(text) {
  const [number, suffix] = text.replaceAll("\u00a0", " ").trim().split(" ");
  return Number(number) * ({ k: 1e3, M: 1e6, G: 1e9, T: 1e12 }[suffix] ?? 1);
}
