// What is wrong in a region, in words; and what was wrong before.

import { showTime, timeElement } from "./ages.js";
import { element, keyed, setText } from "./dom.js";
import { badge, showBadge } from "./grid.js";
import { formatted, joined, reasonAdvice, reasonTitle } from "./words.js";

/** The list of problems of one region, and the list of those that are over. */
export class Problems {
  now = element("ul", { class: "problems", "aria-label": "What is wrong" });
  past = element("ul", { class: "past", "aria-label": "What was wrong before" });

  show({ problems, targets }) {
    keyed(this.now, problems, PRESENT);
    this.now.hidden = problems.length === 0;
    const over = targets.filter(({ level, last_error: error }) => level === "ok" && error);
    keyed(this.past, over, PAST);
    this.past.hidden = over.length === 0;
  }
}

const PRESENT = {
  key: ({ reason }) => reason,
  create: ({ reason }) =>
    element(
      "li",
      {},
      element("p", {}, element("strong", {}, reasonTitle(reason)), element("span")),
      element("p", { class: "advice" }, reasonAdvice(reason)),
      element("ul", { class: "messages", "aria-label": "What the last poll met" }),
    ),
  update: (item, problem) => {
    setText(item.firstChild.lastChild, ` · ${extentOf(problem)}`);
    keyed(item.lastChild, messagesOf(problem), MESSAGES);
    item.lastChild.hidden = !item.lastChild.childElementCount;
  },
};

const MESSAGES = {
  key: (message) => message,
  create: (message) => element("li", {}, element("code", {}, message)),
  update: () => {},
};

const PAST = {
  key: ({ collector }) => collector,
  create: () => element("li", {}, badge(), element("span"), timeElement("ago"), element("span")),
  update: (item, { collector, last_error: error }) => {
    const [sign, name, time, text] = item.children;
    showBadge(sign, "over", "Over");
    setText(name, ` ${collector} failed `);
    showTime(time, error.at);
    setText(text, `: ${reasonTitle(error.reason)}. ${error.message}`);
  },
};

/** Say which targets a problem befell, and in how many polls. */
function extentOf({ reason, targets }) {
  const names = joined(targets.map((target) => target.collector));
  if (reason === "late") return names;
  const failures = targets.map((target) => target.consecutive_failures);
  const most = Math.max(...failures);
  const upTo = Math.min(...failures) < most ? "up to " : "";
  return `${names} · ${upTo}${formatted(most)} ${most === 1 ? "poll" : "polls in a row"}`;
}

function messagesOf({ reason, targets }) {
  if (reason === "late") return [];
  return [...new Set(targets.map((target) => target.last_error.message))];
}
