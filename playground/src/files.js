// The lessons and the texts that they name, as the bundler puts them into the page.

import l1 from "../lessons/1-first-touch.json";
import l2 from "../lessons/2-scan-and-fault.json";
import l3 from "../lessons/3-ping-pong.json";
import l4 from "../lessons/4-skipped-vma.json";
import l5 from "../lessons/5-shared-cow.json";
import l6 from "../lessons/6-small-or-huge.json";
import ownTouch from "../lessons/own-touch.toml";
import pingPong from "../lessons/ping-pong.toml";
import newOwners from "../lessons/new-owners.toml";
import noHugeBlock from "../lessons/no-huge-block-left.toml";
import twoNodes from "../lessons/two-small-nodes.toml";

export const LESSONS = [l1, l2, l3, l4, l5, l6];

export const FILES = {
  "own-touch.toml": ownTouch,
  "ping-pong.toml": pingPong,
  "new-owners.toml": newOwners,
  "no-huge-block-left.toml": noHugeBlock,
  "two-small-nodes.toml": twoNodes,
};
