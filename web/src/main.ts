// The script of the report. The page can be read without it.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { read } from "./data";
import { el } from "./dom";
import * as filter from "./filter";
import { Section } from "./section";
import * as theme from "./theme";
import * as tooltip from "./tooltip";

/** Draws the charts, or an error message if the embedded data cannot be read. */
function charts(host: HTMLElement): Section | null {
  try {
    return new Section(host, read());
  } catch (error) {
    console.error(error);
    const why = error instanceof Error ? error.message : String(error);
    const text = `The charts cannot be drawn: the data in this page cannot be read (${why}). To write the page anew: `;
    host.replaceChildren(el("p", { class: "warning", role: "alert" }, text, el("code", {}, "numalab report DIR")));
    return null;
  }
}

const host = document.getElementById("charts");
let section: Section | null = null;
// These parts need no data. The theme is set first, before anything is drawn in its colours.
theme.start(() => section?.draw());
tooltip.start();
filter.start();
if (host) section = charts(host);
document.documentElement.dataset["ready"] = "true";
