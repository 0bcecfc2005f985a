// Tables whose rows stay the same elements while what they show changes.

import { element, keyed, setAttribute, setText } from "./dom.js";

/**
 * A table. A column has a `title`, a `show(node, item)` that fills a cell, and may have a
 * `make()` for what stands in the cell; the first column names the row.
 */
export class Grid {
  #columns;
  #key;
  #body = element("tbody");

  constructor({ caption, columns, key }) {
    this.#columns = columns;
    this.#key = key;
    this.heads = columns.map(({ title }) => element("th", { scope: "col" }, title));
    const table = element(
      "table",
      {},
      element("caption", { class: "unseen" }, caption),
      element("thead", {}, element("tr", {}, ...this.heads)),
      this.#body,
    );
    // What scrolls must be within reach of the keyboard.
    this.root = element(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
      table,
    );
  }

  /** Show these items, in this order. */
  show(items) {
    keyed(this.#body, items, {
      key: this.#key,
      create: () => this.#row(),
      update: (row, item) => this.#fill(row, item),
    });
  }

  #row() {
    const cells = this.#columns.map(({ make }, index) => {
      const cell = index === 0 ? element("th", { scope: "row" }) : element("td");
      cell.append(make ? make() : element("span"));
      return cell;
    });
    return element("tr", {}, ...cells);
  }

  #fill(row, item) {
    this.#columns.forEach(({ show }, index) => show(row.cells[index].firstChild, item));
  }
}

/** Make a badge: a word with a sign and a colour of its level. */
export function badge() {
  return element("span", { class: "badge" });
}

/** Show a level in a badge, in a word. */
export function showBadge(node, level, word) {
  setAttribute(node, "data-level", level);
  setText(node, word);
}
