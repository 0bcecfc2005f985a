// What is wrong, in one sentence and a few links, above every view.

import { element, keyed, setText } from "./dom.js";
import { badge, showBadge } from "./grid.js";
import { REGION_WORDS } from "./judgement.js";
import { formatted, joined, providerName, reasonTitle } from "./words.js";

const MOST_LINKS = 5;
const TROUBLE = [
  ["down", "is down", "are down"],
  ["degraded", "fails in part", "fail in part"],
  ["late", "is no longer polled", "are no longer polled"],
  ["waiting", "waits for its first poll", "wait for their first poll"],
];

/** Say in one sentence how reading the regions goes. */
export function sentence(regions) {
  if (!regions.length) return "Nothing is configured.";
  const all = plural(regions.length, "region");
  const trouble = TROUBLE.map(([level, one, many]) => {
    const number = regions.filter((region) => region.level === level).length;
    return number ? `${formatted(number)} ${number === 1 ? one : many}` : "";
  }).filter(Boolean);
  if (trouble.length) return `Of ${all}, ${joined(trouble)}.`;
  const targets = regions.reduce((sum, region) => sum + region.targets.length, 0);
  return `Every region answers: ${all}, ${plural(targets, "target")}.`;
}

/** Show the worst regions, each as a link to it with what it suffers from. */
export function showWorst(list, regions) {
  const bad = regions.filter(({ problems }) => problems.length);
  keyed(list, bad.slice(0, MOST_LINKS), WORST);
  list.hidden = bad.length === 0;
}

/** Return a page title that tells of trouble first. */
export function pageTitle(view, regions) {
  const bad = regions.filter(({ problems }) => problems.length).length;
  const trouble = bad ? `✕ ${formatted(bad)} in trouble · ` : "";
  return `${trouble}${view} · GPU cluster exporter`;
}

const WORST = {
  key: (region) => region.key,
  create: ({ key }) =>
    element(
      "li",
      {},
      badge(),
      element("a", { href: `#targets?at=${encodeURIComponent(key)}` }),
      element("span"),
    ),
  update: (item, region) => {
    const [sign, link, reason] = item.children;
    showBadge(sign, region.level, REGION_WORDS[region.level]);
    setText(link, titleOf(region));
    setText(reason, joined(region.problems.map((each) => reasonTitle(each.reason))));
  },
};

function plural(number, word) {
  return `${formatted(number)} ${word}${number === 1 ? "" : "s"}`;
}

function titleOf({ provider, account, region }) {
  return region ? `${region} of ${account}` : `${account}, ${providerName(provider)}`;
}
