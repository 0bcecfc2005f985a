// How many nodes, fabrics and runs are in which state, above every view.

import { showTime, timeElement } from "./ages.js";
import { element, keyed, setAttribute, setText } from "./dom.js";
import { levelOrder, stateGroup } from "./states.js";
import { formatted } from "./words.js";

/** Return the states of objects with how many are in each, the worst first. */
export function countStates(items) {
  const groups = new Map();
  for (const item of items) {
    const { group: state, level } = stateGroup(item);
    if (!groups.has(state)) groups.set(state, { state, level, number: 0 });
    groups.get(state).number += 1;
  }
  return [...groups.values()].sort(
    (a, b) => levelOrder(a.level, b.level) || (a.state < b.state ? -1 : 1),
  );
}

/** One line for each kind of object, whose states are links to the objects in them. */
export class Summary {
  #list;
  #kinds;

  constructor(list, kinds) {
    this.#list = list;
    this.#kinds = new Map(kinds.map(({ view, many }) => [view, { view, many, number: 0 }]));
  }

  /** Show the objects of one kind. */
  show({ view, many }, items) {
    const [number, oldest] = [items.length, oldestSeen(items)];
    this.#kinds.set(view, { view, many, number, oldest, states: countStates(items) });
    keyed(this.#list, [...this.#kinds.values()].filter((kind) => kind.number), LINE);
  }
}

/** Return when the one of them was seen that was seen longest ago, but for the stale ones. */
function oldestSeen(items) {
  const times = items.filter(({ stale }) => !stale).map((item) => item.last_seen);
  return times.length ? times.reduce((a, b) => Math.min(a, b)) : null;
}

const LINE = {
  key: ({ view }) => view,
  create: ({ view }) =>
    element(
      "li",
      {},
      element("a", { href: `#${view}` }),
      element("ul", { class: "chips" }),
      element("span", { class: "muted" }, "oldest seen ", timeElement("ago")),
    ),
  update: (line, { view, many, number, oldest, states }) => {
    const [all, chips, age] = line.children;
    setText(all, `${formatted(number)} ${many}`);
    keyed(chips, states.map((group) => ({ ...group, view })), CHIP);
    showTime(age.lastChild, oldest, "too long ago");
  },
};

const CHIP = {
  key: ({ state }) => state,
  create: ({ view, state }) => {
    const query = new URLSearchParams({ state });
    const link = element("a", { class: "chip", href: `#${view}?${query}` });
    link.append(`${state} `, element("b"));
    return element("li", {}, link);
  },
  update: (item, { level, number }) => {
    setAttribute(item.firstChild, "data-level", level);
    setText(item.firstChild.lastChild, formatted(number));
  },
};
