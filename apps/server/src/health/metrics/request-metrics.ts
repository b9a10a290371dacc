/** A request that was answered. */
interface AnsweredRequest {
  /** Its Request-Id. */
  readonly id: string;
  readonly status: number;
  readonly seconds: number;
  /** The share of its key's rate limit that is in use, from 0 to 1; undefined: it has no such limit. */
  readonly limitUsed: number | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Counts the requests of one route. */
export type CountRequest = (request: AnsweredRequest) => void;

/** The names by which a route is counted: few, and never what a caller has sent. */
export interface CountedRoute {
  readonly interface: "partner" | "operator" | "gbfs" | "console" | "pages" | "none";
  /** The endpoint's name in the contract. */
  readonly route: string;
  readonly method: string;
}

/** Counts requests, and how long they took. */
export interface RequestMetrics {
  /** Called once for each route, when it is made. */
  countRoute(route: CountedRoute): CountRequest;
  /**
   * Bytes of all connections since the start.
   * @param read called at each scrape
   */
  watchBytes(read: () => { readonly received: number; readonly sent: number }): void;
  /** The metrics in Prometheus's format. @param withExemplars as OpenMetrics has them: the Request-Id of the latest request */
  text(withExemplars: boolean): string;
}

/**
 * Seconds. A list from memory takes a fifth of a millisecond and one from the database a few, a filtered list is given up
 * after 1.5 s, and a statement after 10 s.
 */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const SHARE_BUCKETS = [0.1, 0.25, 0.5, 0.75, 0.9, 0.99];

/** The metrics of requests, from their start at zero. */
export function createRequestMetrics(): RequestMetrics {
  const counts = new Map<string, { total: number }>();
  const durations = new Map<string, RequestHistogram>();
  const shares = new RequestHistogram(SHARE_BUCKETS);
  let readBytes = () => ({ received: 0, sent: 0 });

  const durationsOf = ({ interface: side, route }: CountedRoute): RequestHistogram => {
    // The console has over a hundred endpoints, for a few people: a series set for each would be most of all series.
    const labels = `interface="${side}",route="${side === "console" ? "any" : route}"`;
    const known = durations.get(labels) ?? new RequestHistogram(DURATION_BUCKETS);
    durations.set(labels, known);
    return known;
  };
  const counterOf = ({ interface: side, route, method }: CountedRoute, status: number): { total: number } => {
    const labels = `interface="${side}",route="${route}",method="${method}",status="${status}"`;
    const known = counts.get(labels) ?? { total: 0 };
    counts.set(labels, known);
    return known;
  };
  return {
    countRoute(route) {
      const took = durationsOf(route);
      const byStatus = new Map<number, { total: number }>();
      return (request) => {
        let counter = byStatus.get(request.status);
        if (counter === undefined) byStatus.set(request.status, (counter = counterOf(route, request.status)));
        counter.total++;
        took.observe(request.seconds, request);
        if (request.limitUsed !== undefined) shares.observe(request.limitUsed, request);
      };
    },
    watchBytes(read) {
      readBytes = read;
    },
    text: (withExemplars) =>
      [
        ...family("bikeshare_http_requests_total", "counter", REQUESTS_HELP, (name) =>
          [...counts].map(([labels, { total }]) => `${name}{${labels}} ${total}`),
        ),
        ...family("bikeshare_http_request_duration_seconds", "histogram", DURATION_HELP, (name) =>
          [...durations].flatMap(([labels, histogram]) => histogram.lines(name, labels, withExemplars)),
        ),
        ...family("bikeshare_http_rate_limit_used_ratio", "histogram", SHARE_HELP, (name) =>
          shares.lines(name, "", withExemplars),
        ),
        ...bytesText(readBytes()),
        "",
      ].join("\n"),
  };
}

const REQUESTS_HELP = "Requests answered, by endpoint of the contract and status.";
const DURATION_HELP = "Time from the end of a request's head until its answer was sent.";
const SHARE_HELP = "Share of its key's rate limit that was in use after a request.";

function bytesText({ received, sent }: { readonly received: number; readonly sent: number }): string[] {
  return [
    ...family("bikeshare_http_received_bytes_total", "counter", "Bytes received over all connections.", (name) => [
      `${name} ${received}`,
    ]),
    ...family("bikeshare_http_sent_bytes_total", "counter", "Bytes sent over all connections.", (name) => [
      `${name} ${sent}`,
    ]),
  ];
}

function family(name: string, type: string, help: string, lines: (name: string) => readonly string[]): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines(name)];
}

/** What an exemplar leads to. */
interface Observed {
  /** The Request-Id. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

interface Exemplar extends Observed {
  readonly value: number;
}

/** A histogram without a library: prom-client looks its series up by a text of all labels at each request. */
class RequestHistogram {
  readonly #bounds: readonly number[];
  /** Of each bucket, what falls into it and not into the one before; the last one has no bound. */
  readonly #counts: number[];
  readonly #exemplars: (Exemplar | undefined)[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
    this.#exemplars = this.#counts.map(() => undefined);
  }

  observe(value: number, { id, at }: Observed): void {
    const bounds = this.#bounds;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] ?? 0)) index++;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#exemplars[index] = { id, value, at };
    this.#sum += value;
  }

  /** @param labels as the format has them, without braces */
  lines(name: string, labels: string, withExemplars: boolean): string[] {
    let total = 0;
    const separator = labels === "" ? "" : ",";
    const buckets = this.#counts.map((count, index) => {
      total += count;
      const bound = this.#bounds[index] ?? "+Inf";
      const line = `${name}_bucket{${labels}${separator}le="${bound}"} ${total}`;
      const exemplar = withExemplars ? this.#exemplars[index] : undefined;
      if (exemplar === undefined) return line;
      return `${line} # {request_id="${exemplar.id}"} ${exemplar.value} ${exemplar.at / 1_000}`;
    });
    const braces = labels === "" ? "" : `{${labels}}`;
    return [...buckets, `${name}_sum${braces} ${this.#sum}`, `${name}_count${braces} ${total}`];
  }
}
