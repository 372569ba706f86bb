// The report's script: everything it does is an addition to a page that can be read without it.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { read } from "./data";
import * as filter from "./filter";
import { Section } from "./section";
import * as theme from "./theme";
import * as tooltip from "./tooltip";

const host = document.getElementById("charts");
const data = read();
// The theme is set before anything is drawn in its colours.
let section: Section | null = null;
theme.start(() => section?.draw());
tooltip.start();
filter.start();
if (host && data && data.workloads.length > 0) section = new Section(host, data);
document.documentElement.dataset["ready"] = "true";
