// The view of all targets, by cloud, account and region, the worst first.

import { showTime, timeElement } from "./ages.js";
import { element, keyed, setAttribute, setText } from "./dom.js";
import { Grid, badge, showBadge } from "./grid.js";
import { REGION_WORDS, TARGET_WORDS } from "./judgement.js";
import { Problems } from "./problems.js";
import { counted, formatted, joined, providerName } from "./words.js";

const JITTER_SECONDS = 0.5;
const COLUMNS = [
  { title: "Target", show: (node, { collector }) => setText(node, collector) },
  {
    title: "State",
    make: badge,
    show: (node, { level }) => showBadge(node, level, TARGET_WORDS[level]),
  },
  {
    title: "Last success",
    make: () => timeElement("ago"),
    show: (node, target) => showTime(node, target.last_success),
  },
  { title: "Next poll", make: () => timeElement("ahead"), show: showNext },
  { title: "Objects", show: (node, target) => setText(node, objectsOf(target)) },
];

/** Show the accounts, as they were judged, in an element. */
export function showAccounts(parent, accounts) {
  keyed(parent, accounts, {
    key: (account) => account.key,
    create: accountElement,
    update: (section, { regions }) => keyed(section.lastChild, regions, REGIONS),
  });
}

/** Name a region as headings and sentences do. */
export function regionName({ provider, region }) {
  return region || (provider === "nsml" ? "Projects and runs" : "All regions");
}

/** Bring a region of the view to the eye and to the keyboard; say whether it is there. */
export function goToRegion(parent, key) {
  const details = [...parent.querySelectorAll("details")].find((each) => each.dataset.key === key);
  if (!details) return false;
  details.open = true;
  details.scrollIntoView({ block: "start" });
  details.querySelector("summary").focus();
  return true;
}

function accountElement({ provider, account, environment }) {
  const where = environment ? `, environment ${environment}` : "";
  return element(
    "section",
    { class: "account" },
    element(
      "h3",
      {},
      element("span", {}, account),
      element("small", {}, `${providerName(provider)}${where}`),
    ),
    element("div", { class: "regions" }),
  );
}

const REGIONS = {
  key: (region) => region.key,
  create: (region) => new RegionCard(region).root,
  update: (root, region) => cards.get(root).show(region),
};
const cards = new WeakMap();

class RegionCard {
  #badge = badge();
  #counts = element("span", { class: "counts" });
  #success = timeElement("ago");
  #next = timeElement("ahead");
  #problems = new Problems();
  #grid;
  #bad = false;

  constructor(region) {
    const name = regionName(region);
    this.#grid = new Grid({
      caption: `Targets of ${name}, ${region.account}`,
      columns: COLUMNS,
      key: (target) => target.collector,
    });
    this.root = element(
      "details",
      { class: "region" },
      element("summary", {}, this.#badge, element("h4", {}, name), this.#counts, this.#times()),
      this.#problems.now,
      this.#grid.root,
      this.#problems.past,
    );
    cards.set(this.root, this);
  }

  #times() {
    return element(
      "span",
      { class: "times" },
      element("span", {}, "last success ", this.#success),
      element("span", {}, "next poll ", this.#next),
    );
  }

  show(region) {
    setAttribute(this.root, "data-level", region.level);
    showBadge(this.#badge, region.level, REGION_WORDS[region.level]);
    setText(this.#counts, countsOf(region));
    showTime(this.#success, oldestSuccess(region.quick));
    showNext(this.#next, soonest(region.quick));
    this.#problems.show(region);
    this.#grid.show(region.targets);
    this.#openWhereBad(region.level !== "ok" && region.level !== "waiting");
  }

  /** Open what turns bad; what is open already is left to whoever reads it. */
  #openWhereBad(bad) {
    if (bad && !this.#bad) this.root.open = true;
    this.#bad = bad;
  }
}

function showNext(node, { last_attempt: attempt, next_poll: next }) {
  const polling = next !== null && attempt !== null && attempt > next - JITTER_SECONDS;
  showTime(node, polling ? null : next, polling ? "now" : "–");
}

function objectsOf({ level, last_success: success, objects, reported_objects: reported }) {
  if (success === null) return "–";
  const differs = reported !== null && reported !== objects;
  const number = formatted(objects) + (differs ? ` of ${formatted(reported)} claimed` : "");
  return level === "ok" ? number : `${number} then`;
}

function countsOf({ level, quick }) {
  const read = quick.filter((target) => target.last_success !== null);
  if (!read.length) return "nothing seen yet";
  const counts = joined(read.map(({ collector, objects }) => counted(collector, objects)));
  return level === "ok" ? counts : `last saw ${counts}`;
}

function oldestSuccess(targets) {
  const times = targets.map((target) => target.last_success);
  return times.includes(null) ? null : Math.min(...times);
}

function soonest(targets) {
  return targets.reduce((a, b) => ((b.next_poll ?? Infinity) < (a.next_poll ?? Infinity) ? b : a));
}
