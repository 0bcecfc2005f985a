// The address: which view is shown, and what is asked of its table.

const VIEWS = ["targets", "nodes", "fabrics", "runs"];

/** Return the view and its parameters of `#nodes?q=aurora`; no view where it is a place's. */
export function route() {
  const [view, query = ""] = (location.hash.slice(1) || VIEWS[0]).split("?", 2);
  return { view: VIEWS.includes(view) ? view : null, query: new URLSearchParams(query) };
}

/** Write what is asked of a view into the address, so that it can be passed on. */
export function rewrite(view, query) {
  const text = query.toString();
  history.replaceState(null, "", `#${view}${text && `?${text}`}`);
}
