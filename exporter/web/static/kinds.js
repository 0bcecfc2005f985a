// The tables of nodes, fabrics and runs: what stands in which column.

import { showTime, timeElement } from "./ages.js";
import { element, keyed, setText } from "./dom.js";
import { badge, showBadge } from "./grid.js";
import { stateGroup, stateLevel, stateRank, stateWords } from "./states.js";

const STATE = {
  id: "state",
  title: "State",
  make: badge,
  show: (node, item) => showBadge(node, stateLevel(item), stateWords(item)),
  rank: stateRank,
};
const SEEN = {
  id: "seen",
  title: "Last seen",
  make: () => timeElement("ago"),
  show: (node, item) => showTime(node, item.last_seen),
  rank: (item) => -(item.last_seen ?? 0),
};
const RANKS = {
  title: "Nodes",
  make: () => element("span", { class: "ranks" }),
  show: (node, item) =>
    keyed(node, ranksByState(item.nodes ?? []), {
      key: ({ state }) => state,
      create: badge,
      update: (sign, { level, words }) => showBadge(sign, level, words),
    }),
};
const PLACE = [text("region", "Region"), text("environment", "Env."), text("account", "Account")];
const MOST_RANKS = 4;
const WORST_FIRST = { id: "state", down: false };

/** Return a column that shows and sorts by one label. */
function text(id, title) {
  return {
    id,
    title,
    show: (node, item) => setText(node, item[id] || "–"),
    rank: (item) => item[id] ?? "",
  };
}

/** Return how many nodes of a run are in which state, and which ranks where few are not well. */
function ranksByState(nodes) {
  const groups = new Map();
  for (const node of nodes) {
    const { group: state, level } = stateGroup(node);
    if (!groups.has(state)) groups.set(state, { state, level, ranks: [] });
    groups.get(state).ranks.push(node.rank);
  }
  return [...groups.values()].map((group) => ({ ...group, words: rankWords(group) }));
}

function rankWords({ state, level, ranks }) {
  const which = level === "ok" || ranks.length > MOST_RANKS ? "" : ` (rank ${ranks.join(", ")})`;
  return `${ranks.length} ${state}${which}`;
}

/** Return the key of an object: the labels that no two objects share. */
function keyOf(...names) {
  return (item) => JSON.stringify(names.map((name) => item[name]));
}

export const KINDS = [
  {
    view: "nodes",
    one: "node",
    many: "nodes",
    caption: "GPU nodes as they were last seen",
    key: keyOf("account", "environment", "region", "gpu_node_id"),
    sort: WORST_FIRST,
    columns: [
      text("gpu_node_name", "Node"),
      STATE,
      text("cluster_fabric_name", "Fabric"),
      ...PLACE,
      text("server_type", "Server type"),
      text("policy_ip", "Address"),
      SEEN,
      text("gpu_node_id", "Id"),
    ],
  },
  {
    view: "fabrics",
    one: "fabric",
    many: "fabrics",
    caption: "Cluster fabrics as they were last seen",
    key: keyOf("account", "environment", "region", "cluster_fabric_id"),
    sort: WORST_FIRST,
    columns: [
      text("cluster_fabric_name", "Fabric"),
      STATE,
      ...PLACE,
      text("server_type", "Server type"),
      SEEN,
      text("cluster_fabric_id", "Id"),
    ],
  },
  {
    view: "runs",
    one: "run",
    many: "runs",
    caption: "Training runs as they were last seen",
    key: keyOf("account", "project_id", "run_name"),
    sort: WORST_FIRST,
    columns: [
      text("run_name", "Run"),
      STATE,
      RANKS,
      text("project_name", "Project"),
      text("run_type", "Type"),
      text("account", "Account"),
      SEEN,
      text("project_id", "Project id"),
    ],
  },
];
