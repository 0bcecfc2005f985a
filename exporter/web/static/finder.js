// A table of many objects that can be searched, filtered by state and sorted.

import { element, keyed, setAttribute, setText } from "./dom.js";
import { Grid } from "./grid.js";
import { stateGroup } from "./states.js";
import { countStates } from "./summary.js";
import { formatted } from "./words.js";

const FIRST_ROWS = 100;
const MORE_ROWS = 200;
const SLICE = 2000;
const DIGITS = 12;

/**
 * The view of one kind of object. `spec` gives its `view`, the words for `one` and `many`,
 * the `caption` and `columns` of its table, where a column that sorts has an `id` and a
 * `rank(item)`, and the `key` of an object. `onAsk` is told when another question is asked.
 */
export class Finder {
  #section;
  #spec;
  #onAsk;
  #items = null;
  #entries = null;
  #ordered = [];
  #shown = FIRST_ROWS;
  #words = "";
  #states = new Set();
  #sort;
  #search = element("input", { type: "search", autocomplete: "off", spellcheck: "false" });
  #chips;
  #count = element("p", { class: "count", role: "status" });
  #grid;
  #more = element("button", { type: "button", class: "more", hidden: "" });

  constructor(section, spec, onAsk) {
    this.#section = section;
    this.#spec = spec;
    this.#onAsk = onAsk;
    this.#sort = { id: spec.columns[0].id, down: false, ...spec.sort };
    this.#chips = element("div", { class: "chips", role: "group", "aria-label": "States" });
    this.#grid = new Grid(spec);
    const label = element("label", { class: "search" }, `Search ${spec.many}`, this.#search);
    const tools = element("div", { class: "tools" }, label, this.#chips);
    section.append(tools, this.#count, this.#grid.root, this.#more);
    this.#listen();
    this.#show();
  }

  /** What is asked, as parameters of an address. */
  get query() {
    const query = new URLSearchParams();
    if (this.#words) query.set("q", this.#words);
    for (const state of this.#states) query.append("state", state);
    const { id, down } = this.#sort;
    if (id !== this.#spec.sort.id || down) query.set("sort", (down ? "-" : "") + id);
    return query;
  }

  /** Show the view, and ask what an address says; nothing changes where it says nothing. */
  open(query) {
    if ([...query.keys()].length) this.#read(query);
    this.#show();
    this.#prepare();
  }

  /** Show other objects in the same way. */
  async take(items) {
    this.#items = items;
    if (!this.#section.hidden) await this.#prepare();
  }

  #read(query) {
    this.#words = query.get("q") ?? "";
    this.#search.value = this.#words;
    this.#states = new Set(query.getAll("state"));
    const [, minus, id] = /^(-?)(.*)$/.exec(query.get("sort") ?? "");
    if (this.#spec.columns.some((column) => column.id === id)) this.#sort = { id, down: !!minus };
    this.#order();
  }

  /** Make the objects ready to be searched, in steps that leave the page free in between. */
  async #prepare() {
    const items = this.#items;
    if (!items) return;
    const entries = [];
    const { rank } = this.#spec.columns[0];
    for (let from = 0; from < items.length; from += SLICE) {
      for (const item of items.slice(from, from + SLICE)) {
        entries.push({ item, name: natural(rank(item)), text: searchable(item) });
      }
      await breath();
      if (items !== this.#items) return; // newer ones are on their way
    }
    entries.sort((a, b) => compared(a.name, b.name));
    this.#entries = entries;
    await breath();
    this.#order();
    await breath();
    this.#show();
  }

  #listen() {
    this.#search.addEventListener("input", () => {
      this.#words = this.#search.value;
      this.#asked();
    });
    this.#more.addEventListener("click", () => {
      this.#shown += MORE_ROWS;
      this.#show();
    });
    this.#spec.columns.forEach(({ id, title }, index) => {
      if (!id) return;
      const button = element("button", { type: "button" }, title);
      button.addEventListener("click", () => this.#sortBy(id));
      this.#grid.heads[index].replaceChildren(button);
    });
  }

  #sortBy(id) {
    this.#sort = { id, down: this.#sort.id === id && !this.#sort.down };
    this.#order();
    this.#asked();
  }

  #toggle(state) {
    if (!this.#states.delete(state)) this.#states.add(state);
    this.#asked();
  }

  #asked() {
    this.#shown = FIRST_ROWS;
    this.#show();
    this.#onAsk();
  }

  /** Sort by the column asked for; objects that are equal there keep the order of their names. */
  #order() {
    if (!this.#entries) return;
    const { id, down } = this.#sort;
    const { rank } = this.#spec.columns.find((column) => column.id === id);
    const sign = down ? -1 : 1;
    const ranked = this.#entries.map((entry) => [rank(entry.item), entry]);
    ranked.sort(([a], [b]) => sign * compared(a, b));
    this.#ordered = ranked.map(([, entry]) => entry);
  }

  #show() {
    this.#showHeads();
    if (this.#entries) this.#showEntries();
    else setText(this.#count, `Reading the ${this.#spec.many} …`);
  }

  #showEntries() {
    const words = this.#words.toLowerCase().split(/\s+/).filter(Boolean);
    const worded = this.#ordered.filter(({ text }) => words.every((word) => text.includes(word)));
    const found = worded.filter(({ item }) => this.#isAsked(item)).map(({ item }) => item);
    this.#showChips(worded);
    setText(this.#count, this.#countWords(found.length));
    this.#grid.show(found.slice(0, this.#shown));
    this.#grid.root.hidden = found.length === 0;
    this.#showMore(found.length - this.#shown);
  }

  #isAsked(item) {
    return !this.#states.size || this.#states.has(stateGroup(item).group);
  }

  #countWords(found) {
    const { one, many } = this.#spec;
    const all = this.#entries.length;
    if (!all) return `No ${many} were seen.`;
    const number = `${formatted(all)} ${all === 1 ? one : many}`;
    const matching = found === all ? number : `${formatted(found)} of ${number}`;
    return found > this.#shown ? `${matching}, the first ${this.#shown} shown` : matching;
  }

  #showMore(hidden) {
    this.#more.hidden = hidden <= 0;
    setText(this.#more, `Show ${formatted(Math.min(hidden, MORE_ROWS))} more`);
  }

  #showHeads() {
    this.#spec.columns.forEach(({ id }, index) => {
      const direction = this.#sort.down ? "descending" : "ascending";
      setAttribute(this.#grid.heads[index], "aria-sort", id === this.#sort.id ? direction : null);
    });
  }

  /** Show the states of what matches the words; those asked for stay, also with none. */
  #showChips(entries) {
    const counted = countStates(entries.map(({ item }) => item));
    const there = new Set(counted.map(({ state }) => state));
    const asked = [...this.#states].filter((state) => !there.has(state));
    const empty = asked.map((state) => ({ state, level: "off", number: 0 }));
    keyed(this.#chips, [...counted, ...empty], {
      key: ({ state }) => state,
      create: ({ state }) => this.#chip(state),
      update: (chip, { state, number, level }) => {
        setAttribute(chip, "data-level", level);
        setAttribute(chip, "aria-pressed", this.#states.has(state));
        setText(chip.lastChild, formatted(number));
      },
    });
  }

  #chip(state) {
    const chip = element("button", { type: "button", class: "chip" }, `${state} `, element("b"));
    chip.addEventListener("click", () => this.#toggle(state));
    return chip;
  }
}

/** Return all texts of an object and of its nodes, in lower case. */
function searchable(item) {
  const found = [item, ...(item.nodes ?? [])].flatMap((each) => Object.values(each));
  return found.filter((value) => typeof value === "string").join("\n").toLowerCase();
}

/** Return a text that sorts numbers by their size: node-2 before node-10. */
function natural(text) {
  return text.toLowerCase().replaceAll(/\d+/g, (digits) => digits.padStart(DIGITS, "0"));
}

function compared(a, b) {
  return a < b ? -1 : Number(a > b);
}

/** Let the browser do what waits: a key, a click, a frame. */
function breath() {
  return new Promise((resolve) => {
    setTimeout(resolve);
  });
}
