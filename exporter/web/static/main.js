// The status page: asks, judges, shows.

import { clockTime, keepTimes } from "./ages.js";
import { now } from "./clock.js";
import { setAttribute, setText } from "./dom.js";
import { Feed } from "./feed.js";
import { Finder } from "./finder.js";
import { pageTitle, sentence, showWorst } from "./headline.js";
import { accountsOf } from "./judgement.js";
import { KINDS } from "./kinds.js";
import { rewrite, route } from "./route.js";
import { Summary } from "./summary.js";
import { goToRegion, showAccounts } from "./targets.js";

const TARGETS_SECONDS = 3;
const OPEN_SECONDS = 5;
const ASIDE_SECONDS = 15;
const byId = (id) => document.getElementById(id);

let shown = "targets";
let regions = [];
let aim = null;
const answered = new Map();
const troubles = new Map();
const finders = new Map();
const feeds = new Map();

function takeTargets(targets) {
  const accounts = accountsOf(targets, now());
  regions = accounts.flatMap((account) => account.regions);
  showAccounts(byId("accounts"), accounts);
  setText(byId("headline"), sentence(regions));
  byId("overview").dataset.level = regions.some(({ problems }) => problems.length) ? "bad" : "ok";
  showWorst(byId("worst"), regions);
  showTitle();
  goToAim();
}

/** Go to the region that the address names, as soon as it is there. */
function goToAim() {
  if (aim && goToRegion(byId("accounts"), aim)) aim = null;
}

function showTitle() {
  document.title = pageTitle(byId(`title-${shown}`).textContent, regions);
}

/** Note how asking for a list went, and say so where what is shown is old. */
function note(name, problem) {
  troubles.set(name, problem);
  if (!problem) answered.set(name, now());
  showLost();
}

function showLost() {
  const name = ["targets", shown].find((each) => troubles.get(each));
  const banner = byId("lost");
  banner.hidden = !name;
  document.body.toggleAttribute("data-lost", Boolean(name));
  setText(banner, name ? lostWords(troubles.get(name), answered.get(name)) : "");
  const time = answered.get("targets");
  setText(byId("as-of"), time && !name ? `Live, as of ${clockTime(time)}` : "");
}

function lostWords(problem, since) {
  if (!since) return `The exporter could not be asked yet. ${problem}`;
  const time = clockTime(since);
  return `No news from the exporter since ${time}. ${problem} What is shown is from then.`;
}

function showView({ view, query }) {
  if (!view) return;
  feeds.get(shown)?.every(ASIDE_SECONDS);
  shown = view;
  for (const link of document.querySelectorAll("header nav a")) {
    const current = link.hash === `#${view}`;
    byId(`view-${link.hash.slice(1)}`).hidden = !current;
    setAttribute(link, "aria-current", current ? "page" : null);
  }
  finders.get(view)?.open(query);
  feeds.get(view)?.every(OPEN_SECONDS);
  aim = query.get("at");
  goToAim();
  rewrite(view, finders.get(view)?.query ?? new URLSearchParams());
  showTitle();
  showLost();
}

function addKind(spec, summary) {
  const { view } = spec;
  const finder = new Finder(byId(`view-${view}`), spec, () => rewrite(view, finder.query));
  const take = (items) => {
    summary.show(spec, items);
    return finder.take(items);
  };
  finders.set(view, finder);
  feeds.set(view, new Feed(view, take, (problem) => note(view, problem)));
}

const summary = new Summary(byId("states"), KINDS);
for (const spec of KINDS) addKind(spec, summary);
setText(byId("headline"), "Asking the exporter …");
keepTimes();
new Feed("targets", takeTargets, (problem) => note("targets", problem)).every(TARGETS_SECONDS);
for (const feed of feeds.values()) feed.every(ASIDE_SECONDS);
showView(route());
addEventListener("hashchange", () => {
  const asked = route();
  showView(asked);
  // Whoever reads by ear or by keyboard goes on where the view begins.
  if (asked.view && !asked.query.has("at")) byId(`title-${shown}`).focus();
});
