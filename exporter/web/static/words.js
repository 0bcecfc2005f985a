// What the exporter's short words mean, and what to do about them.

const NUMBER = new Intl.NumberFormat("en");
const PROVIDERS = { scp: "Samsung Cloud Platform", nsml: "CLOVA NSML" };

const COLLECTORS = {
  gpu_nodes: ["node", "nodes"],
  cluster_fabrics: ["fabric", "fabrics"],
  node_pools: ["node pool", "node pools"],
  products: ["product", "products"],
  images: ["image", "images"],
  api_versions: ["API version", "API versions"],
  projects: ["project", "projects"],
  runs: ["run", "runs"],
  run_nodes: ["run node", "run nodes"],
};

const REASONS = {
  auth: [
    "Keys refused",
    "The cloud does not accept the keys (401). Check that they belong to this account, have not" +
      " expired and are allowed from this machine's address, and that its clock is right.",
  ],
  forbidden: [
    "Not permitted",
    "The keys are good, but lack a permission or a subscription. Grant them to read this service.",
  ],
  not_found: [
    "Not found",
    "There is no such API at this address. Check the endpoint, and that the region has the service.",
  ],
  rate_limited: [
    "Too many requests",
    "The cloud asks to slow down (429), and gets it. Where this stays, lower requests_per_second" +
      " or raise interval.",
  ],
  timeout: [
    "No answer in time",
    "The cloud is slow, or something between here and there swallows packets, such as a firewall.",
  ],
  connection: [
    "No connection",
    "The cloud can't be reached, or hangs up. Where this machine's name service, proxy and" +
      " firewall are well, the region itself may be down.",
  ],
  tls: [
    "Certificate not trusted",
    "No safe connection comes about. Where an authority of your own signs, as for a proxy, name" +
      " its certificate in http_client.ca_file.",
  ],
  bad_request: [
    "Request refused",
    "The cloud does not accept the request as such. Check the account's api_version and account_id.",
  ],
  server_error: [
    "The cloud has an error",
    "It failed by itself (5xx). There is nothing to mend here: wait, or ask its support.",
  ],
  bad_response: [
    "Not the expected answer",
    "What came is not the documented list: an error, a login page, or a changed API. It is not" +
      " taken for an empty list.",
  ],
  partial: [
    "Read in part",
    "What could be read is up to date; nothing is taken for gone until all could be read.",
  ],
  internal: [
    "A defect of the exporter",
    "The exporter's log tells more. Please report it.",
  ],
  late: [
    "No longer polled",
    "The next poll is long overdue: the loop is stuck, or this machine was asleep. Where this" +
      " stays, restart the exporter.",
  ],
};

/** Name a cloud. */
export function providerName(provider) {
  return PROVIDERS[provider] ?? provider;
}

/** Count what a collector collects: "1 node", "64 nodes". */
export function counted(collector, number) {
  const [one, many] = COLLECTORS[collector] ?? [collector, collector];
  return `${formatted(number)} ${number === 1 ? one : many}`;
}

/** Name what a collector collects: "nodes". */
export function collected(collector) {
  return COLLECTORS[collector]?.[1] ?? collector;
}

/** Name a reason in two or three words. */
export function reasonTitle(reason) {
  return REASONS[reason]?.[0] ?? reason;
}

/** Say what a reason means, and what to do about it. */
export function reasonAdvice(reason) {
  return REASONS[reason]?.[1] ?? "The exporter's log tells more.";
}

/** Write a number: "10,000". */
export function formatted(number) {
  return NUMBER.format(number);
}

/** Join words as a sentence does: "a, b and c". */
export function joined(words) {
  return words.length < 2
    ? words.join("")
    : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}
