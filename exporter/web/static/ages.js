// Times that go on: ages and countdowns, told anew every second while the page is seen.

import { now } from "./clock.js";
import { element, setAttribute, setText } from "./dom.js";

const UNITS = [
  [86400, "d"],
  [3600, "h"],
  [60, "min"],
];
const TICK_MILLISECONDS = 1000;
// To make a format takes a hundred times as long as to use it.
const TIME = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const DAY_AND_TIME = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** Say how long something lasts: "4 s", "12 min", "3 h", "2 d". */
export function span(seconds) {
  const [size, unit] = UNITS.find(([size]) => seconds >= size) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${unit}`;
}

/** Say how long ago a Unix time was. */
export function ago(time) {
  return `${span(Math.max(now() - time, 0))} ago`;
}

/** Say when a Unix time will be; one that has come is due. */
export function ahead(time) {
  const seconds = time - now();
  return seconds <= 0 ? "due" : `in ${span(Math.ceil(seconds))}`;
}

/** Return the clock time of a Unix time, with the day where it is not today's. */
export function clockTime(time) {
  const date = new Date(time * 1000);
  const today = date.toDateString() === new Date().toDateString();
  return (today ? TIME : DAY_AND_TIME).format(date);
}

/** Make an element that shows an age or a countdown; `showTime` says of what. */
export function timeElement(kind) {
  return element("time", { "data-kind": kind });
}

/** Show a Unix time in a time element, or a word where there is none. */
export function showTime(node, time, without = "never") {
  const known = typeof time === "number";
  setAttribute(node, "data-time", known ? time : null);
  setAttribute(node, "datetime", known ? new Date(time * 1000).toISOString() : null);
  setAttribute(node, "title", known ? clockTime(time) : null);
  setText(node, known ? words(node) : without);
}

/** Keep all time elements of the page up to date. */
export function keepTimes() {
  setInterval(() => {
    if (document.hidden) return;
    for (const node of document.querySelectorAll("time[data-time]")) setText(node, words(node));
  }, TICK_MILLISECONDS);
}

function words(node) {
  const time = Number(node.dataset.time);
  // Without news nobody knows whether it was polled meanwhile.
  if (node.dataset.kind === "ahead" && "lost" in document.body.dataset) return "not known";
  return node.dataset.kind === "ahead" ? ahead(time) : ago(time);
}
