// The exporter's clock, as seen from here: its times are compared with no other.

const NOTICEABLE_SECONDS = 2;
const DATE_HEADER_SECONDS = 1;
let ahead = 0;

/** Return the exporter's Unix time. */
export function now() {
  return Date.now() / 1000 + ahead;
}

/** Follow the exporter's clock by the Date header of an answer, which is cut to the second. */
export function follow(dateHeader) {
  const told = Date.parse(dateHeader) / 1000;
  if (Number.isNaN(told)) return;
  const difference = told + DATE_HEADER_SECONDS / 2 - Date.now() / 1000;
  ahead = Math.abs(difference) < NOTICEABLE_SECONDS ? 0 : difference;
}
