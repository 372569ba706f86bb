// The script of the report. The page can be read without it.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { type Data, read } from "./data";
import { el } from "./dom";
import * as filter from "./filter";
import { Picture } from "./picture";
import { Section } from "./section";
import * as theme from "./theme";
import * as tooltip from "./tooltip";

/** The embedded data; null, with a message in place of the charts, if they cannot be read. */
function data(host: HTMLElement): Data | null {
  try {
    return read();
  } catch (error) {
    failed(host, error);
    return null;
  }
}

function failed(host: HTMLElement, error: unknown): void {
  console.error(error);
  const why = error instanceof Error ? error.message : String(error);
  const text = `The charts cannot be drawn: the data in this page cannot be read (${why}). To write the page anew: `;
  host.replaceChildren(el("p", { class: "warning", role: "alert" }, text, el("code", {}, "numalab report DIR")));
  document.getElementById("maps")?.replaceChildren();
}

/** Draws all charts, or the message. Returns what draws them again. */
function charts(host: HTMLElement): (() => void) | null {
  const read = data(host);
  if (!read) return null;
  try {
    const section = new Section(host, read);
    const maps = document.getElementById("maps");
    const picture = maps ? new Picture(maps, read) : null;
    return () => {
      section.draw();
      picture?.draw();
    };
  } catch (error) {
    failed(host, error);
    return null;
  }
}

const host = document.getElementById("charts");
let again: (() => void) | null = null;
// These parts need no data. The theme is set first, before anything is drawn in its colours.
theme.start(() => again?.());
tooltip.start();
filter.start();
if (host) again = charts(host);
document.documentElement.dataset["ready"] = "true";
