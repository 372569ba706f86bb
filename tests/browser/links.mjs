// Every link of a built site leads somewhere: pages, pictures, scripts, styles, and the places inside pages.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const ATTRIBUTE = /\s(?:href|src)=(?:"([^"]*)"|'([^']*)'|([^\s>"']+))/g;
const PLACE = /\s(?:id|name)=(?:"([^"]*)"|'([^']*)'|([^\s>"']+))/g;
const ENTITIES = { "&amp;": "&", "&quot;": '"', "&#39;": "'", "&lt;": "<", "&gt;": ">" };

/** Values of an attribute in HTML, without comments and the text of scripts. */
function values(html, attribute) {
  const plain = html.replace(/<!--.*?-->/gs, "").replace(/(<script\b[^>]*>).*?<\/script>/gs, "$1");
  const tags = plain.match(/<[a-zA-Z][^<>]*>/g) ?? [];
  return tags.flatMap((tag) => [...tag.matchAll(attribute)].map((m) => m[1] ?? m[2] ?? m[3] ?? ""))
    .map((text) => text.replace(/&(amp|quot|#39|lt|gt);/g, (e) => ENTITIES[e]));
}

function pagesBelow(folder) {
  return readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".html")).map((name) => join(folder, name));
}

/** Links of the site in `folder` that lead nowhere, as `page: link`, and how many links it has. Links elsewhere are left out. */
export function deadLinks(folder) {
  const texts = new Map(pagesBelow(folder).map((page) => [page, readFileSync(page, "utf8")]));
  const places = new Map([...texts].map(([page, html]) => [page, new Set(values(html, PLACE))]));
  const dead = [];
  let count = 0;
  for (const [page, html] of texts) {
    for (const link of values(html, ATTRIBUTE)) {
      if (/^[a-z][a-z0-9+.-]*:/i.test(link) || link.startsWith("//")) continue;
      count += 1;
      const [path, place] = link.split("#").map(decodeURIComponent);
      const file = path.split("?")[0];
      const target = file ? resolve(dirname(page), file) : page;
      // The site opens from disk: a link from the root of a server leads nowhere, and a folder opens as a list of files.
      const there = existsSync(target) && statSync(target).isFile() && !relative(folder, target).startsWith("..");
      const found = there && (!place || !places.has(target) || places.get(target).has(place));
      if (!found) dead.push(`${relative(folder, page)}: ${link}`);
    }
  }
  return { dead, count };
}
