// Asking the exporter again and again, while somebody looks, and saying how that goes.

import { follow } from "./clock.js";

const TIMEOUT_MILLISECONDS = 15_000;
// A big answer is asked for less often: getting it takes a twentieth of the time at most.
const SHARE = 20;

/** A list of the exporter that is asked for every so many seconds, while the page is seen. */
export class Feed {
  #name;
  #take;
  #tell;
  #pause = Infinity;
  #timer = null;
  #asking = false;

  /** `take` gets the list; `tell` gets what is wrong in words, or "" where nothing is. */
  constructor(name, take, tell) {
    this.#name = name;
    this.#take = take;
    this.#tell = tell;
    document.addEventListener("visibilitychange", () => this.#askNow());
  }

  /** Ask this often from now on, and at once where that is more often than before. */
  every(seconds) {
    const sooner = seconds * 1000 < this.#pause;
    this.#pause = seconds * 1000;
    if (sooner) this.#askNow();
  }

  #askNow() {
    clearTimeout(this.#timer);
    if (!document.hidden && !this.#asking) this.#ask();
  }

  async #ask() {
    this.#asking = true;
    const began = performance.now();
    try {
      this.#tell(await this.#turn());
    } finally {
      this.#asking = false;
      const pause = Math.max(this.#pause, SHARE * (performance.now() - began));
      this.#timer = setTimeout(() => this.#askNow(), pause);
    }
  }

  async #turn() {
    let list;
    try {
      list = await answer(this.#name);
    } catch (error) {
      return problem(error);
    }
    try {
      await this.#take(list);
    } catch (error) {
      console.error(error);
      return "This page has a defect, which the browser's console tells.";
    }
    return "";
  }
}

class Refusal extends Error {
  constructor(status) {
    super(`status ${status}`);
    this.status = status;
  }
}

async function answer(name) {
  const response = await fetch(`./api/v1/${name}`, {
    headers: { Accept: "application/json" },
    cache: "no-store",
    signal: AbortSignal.timeout(TIMEOUT_MILLISECONDS),
  });
  if (!response.ok) throw new Refusal(response.status);
  const list = (await response.json())?.[name];
  if (!Array.isArray(list)) throw new SyntaxError("not the exporter's answer");
  follow(response.headers.get("Date"));
  return list;
}

function problem(error) {
  if (error instanceof Refusal) return refusal(error.status);
  if (error.name === "TimeoutError") return "It takes too long to answer.";
  if (error instanceof SyntaxError) {
    return "Something else answers in its place, a login page perhaps: reload the page.";
  }
  return "It does not answer.";
}

function refusal(status) {
  if (status === 401 || status === 403) {
    return `It wants to know who asks (${status}): reload the page.`;
  }
  if (status === 429 || status === 503) return `It is too busy (${status}).`;
  return `It answers with an error (${status}).`;
}
