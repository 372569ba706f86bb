// A headless Chromium with the pages of the example, and helpers of all tests.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
export const root = join(here, "..", "..");

/** Profile of cargo that makes the pages; NUMALAB and NUMALAB_HTML_DEMO name a command and an example that are built already. */
const profile = process.env.NUMALAB_PROFILE ?? "release";

const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Writes an example page and the same comparison as JSON. Returns the page's address, the JSON, and a function that removes both. */
export function example(kind) {
  const dir = mkdtempSync(join(tmpdir(), "numalab-page-"));
  const cargo = ["run", "--quiet", "--profile", profile, "-p", "numalab-report", "--example", "html_demo", "--"];
  const built = process.env.NUMALAB_HTML_DEMO;
  const [program, first] = built ? [built, []] : [process.env.CARGO ?? "cargo", cargo];
  execFileSync(program, [...first, dir, ...(kind ? [kind] : [])], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  return {
    url: pathToFileURL(join(dir, "report.html")).href,
    json: JSON.parse(readFileSync(join(dir, "report.json"), "utf8")),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

/** Runs the command in the repository, and returns what it prints. */
function numalab(line) {
  const cargo = [process.env.CARGO ?? "cargo", "run", "--quiet", "--profile", profile, "--bin", "numalab", "--"];
  const [program, ...first] = process.env.NUMALAB ? [process.env.NUMALAB] : cargo;
  return execFileSync(program, [...first, ...line.split(" ")], { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}

/** Carries out `run` with arguments, and writes its page. Returns what `example` returns. */
function page(arguments_) {
  const dir = mkdtempSync(join(tmpdir(), "numalab-page-"));
  const out = join(dir, "out");
  numalab(`run ${arguments_} --out ${out}`);
  numalab(`report ${out}`);
  return {
    url: pathToFileURL(join(out, "report.html")).href,
    json: JSON.parse(numalab(`compare ${out} --json`)),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

/** Simulates a small experiment with scans and migrations, and writes its page. Returns what `example` returns. */
export function experiment() {
  return page("--machine 4x1x2x1 --kernel off,6.3 --workload numa01_THREAD_ALLOC --param memory=64MiB --param loops=12000 --iterations 3");
}

/** Simulates the experiment of the manual's pictures, and writes its page. Returns what `example` returns. */
export function firstSteps() {
  return page("first-steps");
}

/** What the top of a page says, line by line: question, decision, and where memory was. */
export function shown(page) {
  return page.evaluate(() =>
    [document.querySelector("h1"), document.querySelector(".headline"), ...document.querySelectorAll("#answer .findings li"), document.querySelector("#picture .lead")]
      .map((e) => e.innerText.replace(/\s+/g, " ").trim()),
  );
}

/** The SHA-256 sums of the pictures of pages in a folder, by name. */
export function sums(folder) {
  const names = readdirSync(folder).filter((n) => /^report-.*\.png$/.test(n)).sort();
  return Object.fromEntries(names.map((n) => [n, createHash("sha256").update(readFileSync(join(folder, n))).digest("hex")]));
}

/** Starts a browser with a new profile. */
export function browser() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: ARGUMENTS });
}

/** Opens a page, and collects everything that must not happen: errors, warnings, dialogs, requests to other addresses. */
export async function open(b, url, { width = 1280, height = 900, scheme = "light", ...more } = {}) {
  const context = await b.newContext({ viewport: { width, height }, colorScheme: scheme, offline: true, ...more });
  const page = await context.newPage();
  const trouble = [];
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && trouble.push(`${m.type()}: ${m.text()}`));
  page.on("pageerror", (e) => trouble.push(`uncaught: ${e.message}`));
  page.on("dialog", (d) => trouble.push(`dialog: ${d.message()}`) && d.dismiss());
  page.on("request", (r) => r.url().split("#")[0] !== url.split("#")[0] && !r.url().startsWith("data:") && trouble.push(`request: ${r.url()}`));
  await page.goto(url);
  if (more.javaScriptEnabled !== false) await page.waitForSelector("html[data-ready=true]");
  return { page, trouble, close: () => context.close() };
}

/** Waits until everything that was asked to be drawn is drawn: drawing waits for a frame at most, and frames come in order. */
export function drawn(page) {
  return page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** Opens everything that is folded, and waits until it is drawn. */
export async function unfold(page) {
  await page.evaluate(() => document.querySelectorAll("details").forEach((d) => (d.open = true)));
  await drawn(page);
}

/** Counts the pixels of a canvas by colour ("r,g,b"). `part` is x, y, width and height in CSS px. Runs in the page. */
export function colorsOf(canvas, part) {
  const ratio = canvas.width / canvas.clientWidth;
  const [x, y, width, height] = (part ?? [0, 0, canvas.clientWidth, canvas.clientHeight]).map((v) => Math.round(v * ratio));
  // The pixels are read from a copy, since the browser warns of repeated reading from a canvas.
  const copy = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, -x, -y);
  const { data } = copy.getImageData(0, 0, width, height);
  const counts = {};
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] < 255) continue;
    const color = `${data[i]},${data[i + 1]},${data[i + 2]}`;
    counts[color] = (counts[color] ?? 0) + 1;
  }
  return counts;
}

/** Units that are shown in place of each other, and what each is of the smallest. */
const UNITS = [
  { ns: 1, us: 1e3, ms: 1e6, s: 1e9 },
  { bytes: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 },
];

/** A printed figure such as "150.5 M" in `unit` as a number in `own`, the unit of the JSON. */
export function figure(text, unit = "", own = unit === "GiB" || unit === "TiB" ? "MiB" : unit) {
  const [number, suffix] = text.replaceAll("\u00a0", " ").trim().split(" ");
  const of = UNITS.find((u) => unit in u && own in u);
  return Number(number) * ({ k: 1e3, M: 1e6, G: 1e9, T: 1e12 }[suffix] ?? 1) * (of ? of[unit] / of[own] : 1);
}

/** Texts with too little contrast to their background (WCAG contrast ratio below `least`). Runs in the page. */
export function lowContrast(least) {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    return context.getImageData(0, 0, 1, 1).data;
  };
  const luminance = ([r, g, b]) => {
    const part = (x) => (x / 255 <= 0.03928 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = (e) => {
    for (let x = e; x; x = x.parentElement) {
      const c = rgba(getComputedStyle(x).backgroundColor);
      if (c[3] > 250) return c;
    }
    return [255, 255, 255];
  };
  const poor = new Set();
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim() !== "");
    if (!own || e.closest("script, noscript, .hidden, option") || e.getClientRects().length === 0) continue;
    const [x, y] = [luminance(rgba(getComputedStyle(e).color)), luminance(behind(e))];
    const contrast = (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
    if (contrast < least) poor.add(`${e.tagName}.${e.className}: ${contrast.toFixed(2)} "${e.textContent.trim().slice(0, 30)}"`);
  }
  return [...poor].slice(0, 10);
}
