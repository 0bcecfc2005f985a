// States of nodes, fabrics and runs, as people read them: old ones never look like new ones.

const BAD = new Set(["ERROR", "UNKNOWN", "NOT_REPORTED", "FAILED"]);
const GOOD = new Set(["RUNNING", "ACTIVE", "IN_PROGRESS", "COMPLETED", "CREATED"]);
const PASSING = new Set([
  "PENDING",
  "CREATING",
  "STARTING",
  "STOPPING",
  "EDITING",
  "TERMINATING",
  "DELETING",
  "CHANGING",
]);
const OFF = new Set(["STOPPED", "TERMINATED", "DELETED", "CANCELED"]);
const STALE = "NOT SEEN LATELY";
const NOT_READ = "NOT READ";
// Levels in the order in which a table shows them.
const ORDER = ["down", "late", "degraded", "waiting", "off", "ok"];

/** Return the level of an object's state; one that nobody lists deserves a look. */
export function stateLevel({ state, stale }) {
  if (stale) return "late";
  if (BAD.has(state)) return "down";
  if (GOOD.has(state)) return "ok";
  if (PASSING.has(state)) return "waiting";
  return OFF.has(state) ? "off" : "degraded";
}

/** Return an object's state in words: what was last seen too long ago, was. */
export function stateWords({ state, stale }) {
  return stale && state ? `was ${state}` : (state ?? NOT_READ);
}

/** Return what an object is counted and filtered under, and the level of that. */
export function stateGroup(item) {
  const group = item.stale ? STALE : (item.state ?? NOT_READ);
  const level = stateLevel(item);
  const nodes = item.nodes ?? [];
  // A run goes on by its own state while it hangs for want of a node.
  return level === "down" || !nodes.some((node) => stateLevel(node) === "down")
    ? { group, level }
    : { group: `${group}, NODES FAILED`, level: "down" };
}

/** Return the worst level of an object and its parts. */
export function worstLevel(item) {
  const levels = [item, ...(item.nodes ?? [])].map((each) => ORDER.indexOf(stateLevel(each)));
  return ORDER[Math.min(...levels)];
}

/** Order levels, the worst first. */
export function levelOrder(a, b) {
  return ORDER.indexOf(a) - ORDER.indexOf(b);
}

/** Return a text that sorts by state, the worst first. */
export function stateRank(item) {
  return `${ORDER.indexOf(worstLevel(item))} ${stateWords(item)}`;
}
