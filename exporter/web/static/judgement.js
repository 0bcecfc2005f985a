// From targets to what is wrong where: pure, the worst first.

// Levels, the worst first.
export const LEVELS = ["down", "degraded", "late", "waiting", "ok"];

export const TARGET_WORDS = {
  down: "Failing",
  degraded: "Partial",
  late: "Late",
  waiting: "Waiting",
  ok: "OK",
};
export const REGION_WORDS = {
  down: "Down",
  degraded: "In part",
  late: "Late",
  waiting: "Waiting",
  ok: "OK",
};

const ACCOUNT = ["provider", "account"];
const REGION = [...ACCOUNT, "environment", "region"];
const LEAST_LATE_SECONDS = 60;
const LATE_INTERVALS = 2;

/** Return the level of one target at a Unix time. */
export function targetLevel(target, now) {
  if (!target.up && !target.last_error) return isLate(target, now) ? "late" : "waiting";
  if (!target.up) return target.last_error.reason === "partial" ? "degraded" : "down";
  return isLate(target, now) ? "late" : "ok";
}

function isLate(target, now) {
  if (target.next_poll === null) return false;
  const patience = Math.max(LATE_INTERVALS * target.interval_seconds, LEAST_LATE_SECONDS);
  return now - target.next_poll > patience;
}

/** Return the accounts with their regions and targets, the worst first, judged. */
export function accountsOf(targets, now) {
  const judged = targets.map((target) => ({ ...target, level: targetLevel(target, now) }));
  const accounts = grouped(judged, ACCOUNT).map((account) => ({
    ...account,
    regions: worstFirst(grouped(account.targets, REGION).map(judgedRegion)),
  }));
  return worstFirst(accounts.map((each) => ({ ...each, level: each.regions[0].level })));
}

function grouped(targets, names) {
  const groups = new Map();
  for (const target of targets) {
    const key = names.map((name) => encodeURIComponent(target[name])).join("/");
    if (!groups.has(key)) groups.set(key, { ...pick(target), key, targets: [] });
    groups.get(key).targets.push(target);
  }
  return [...groups.values()];
}

function pick({ provider, account, environment, region }) {
  return { provider, account, environment, region };
}

function judgedRegion(region) {
  const quick = quickTargets(region.targets);
  const worst = worstFirst(region.targets)[0].level;
  const whole = quick.every((target) => target.level === "down");
  const level = worst === "down" && !whole ? "degraded" : worst;
  return { ...region, level, quick, problems: problemsOf(region.targets) };
}

/**
 * Return the targets that are polled most often: they tell first that a region is down,
 * while a catalogue that was read a quarter of an hour ago is still well.
 */
function quickTargets(targets) {
  const least = Math.min(...targets.map((target) => target.interval_seconds));
  return targets.filter((target) => target.interval_seconds === least);
}

function worstFirst(items) {
  return [...items].sort((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level));
}

/** Return what is wrong, one entry for each reason, with the targets that it befell. */
function problemsOf(targets) {
  const problems = new Map();
  for (const target of targets) {
    const reason = reasonOf(target);
    if (!reason) continue;
    if (!problems.has(reason)) problems.set(reason, { reason, level: target.level, targets: [] });
    problems.get(reason).targets.push(target);
  }
  return worstFirst([...problems.values()]);
}

function reasonOf(target) {
  if (target.level === "late") return "late";
  return target.level === "down" || target.level === "degraded" ? target.last_error.reason : "";
}
