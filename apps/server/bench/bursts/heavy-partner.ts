import { readFile } from "node:fs/promises";

/*
 * A partner who walks filtered lists as deep and as fast as its rate allows, and what that costs another partner and the
 * probes of a load balancer.
 */

/** A running service with a large number of rides, and two partners' keys. */
export interface HeavyPartnerSubject {
  readonly url: string;
  readonly pid: number;
  /** A key with the default rate of 60 a minute. */
  readonly heavyKey: string;
  /** Another partner's key, with a rate that is never reached. */
  readonly lightKey: string;
  readonly seconds: number;
}

export interface HeavyPartnerFigures {
  /** Of the heavy partner's answers, by status. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly pageMilliseconds: Percentiles;
  /** Of the others' requests, by path, with the heavy partner at rest and at work. */
  readonly others: Readonly<Record<string, { readonly quiet: Percentiles; readonly busy: Percentiles }>>;
  /** Others' requests that were not answered 200. */
  readonly failed: number;
  readonly memoryMiB: { readonly before: number; readonly after: number };
}

export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Requests that are sent at once, and how often: sixty a minute. */
const BURST = 10;
const BURST_EVERY_MS = 10_000;
/** Milliseconds between two of the others' requests to a path. */
const PACE_MS = 20;
const OTHERS = ["/v1/reservations", "/readyz", "/v1/rides"] as const;
/** Every ride passes, and nothing says so but the index. */
const FILTERS =
  "status=completed&started_after=2000-01-01T00:00:00Z&started_before=2100-01-01T00:00:00Z&updated_since=2000-01-01T00:00:00Z";

/** Measures the others at rest, then beside the heavy partner. */
export async function measureHeavyPartner(subject: HeavyPartnerSubject): Promise<HeavyPartnerFigures> {
  const { seconds, pid } = subject;
  const quiet = await measureOthers(subject, Math.max(3, seconds / 4));
  const before = await residentMiB(pid);
  const [heavy, busy] = await Promise.all([walk(subject), measureOthers(subject, seconds)]);
  const others = Object.fromEntries(
    OTHERS.map((path) => [
      path,
      { quiet: percentiles(quiet.times.get(path) ?? []), busy: percentiles(busy.times.get(path) ?? []) },
    ]),
  );
  return {
    ...heavy,
    others,
    failed: quiet.failed + busy.failed,
    memoryMiB: { before, after: await residentMiB(pid) },
  };
}

/** Asks for pages all over a filtered list of every ride, in bursts. */
async function walk({
  url,
  heavyKey,
  seconds,
}: HeavyPartnerSubject): Promise<Pick<HeavyPartnerFigures, "statuses" | "pageMilliseconds">> {
  const headers = { authorization: `Bearer ${heavyKey}` };
  const first = await fetch(`${url}/v1/rides?${FILTERS}&limit=200`, { headers });
  const { total_pages: pages = 1 } = (await first.json()) as { total_pages?: number };
  const statuses: Record<string, number> = {};
  const times: number[] = [];
  const ask = async (page: number) => {
    const begun = performance.now();
    const answer = await fetch(`${url}/v1/rides?${FILTERS}&limit=200&page=${page}`, { headers });
    await answer.arrayBuffer();
    statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
    if (answer.status === 200) times.push(performance.now() - begun);
  };
  const until = performance.now() + seconds * 1000;
  for (let turn = 0; performance.now() < until; turn++) {
    const next = performance.now() + BURST_EVERY_MS;
    // About the middle, which is the dearest.
    await Promise.all(Array.from({ length: BURST }, (_, n) => ask(Math.ceil(pages / 2) + turn * BURST + n)));
    await pause(Math.min(next, until) - performance.now());
  }
  return { statuses, pageMilliseconds: percentiles(times) };
}

async function measureOthers({ url, lightKey }: HeavyPartnerSubject, seconds: number) {
  const headers = { authorization: `Bearer ${lightKey}` };
  const times = new Map<string, number[]>(OTHERS.map((path) => [path, []]));
  const until = performance.now() + seconds * 1000;
  let failed = 0;
  const follow = async (path: string) => {
    while (performance.now() < until) {
      const begun = performance.now();
      const answer = await fetch(url + path, { headers });
      await answer.arrayBuffer();
      times.get(path)?.push(performance.now() - begun);
      if (answer.status !== 200) failed++;
      await pause(PACE_MS);
    }
  };
  await Promise.all(OTHERS.map(follow));
  return { times, failed };
}

export function percentiles(times: readonly number[]): Percentiles {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

export async function pause(milliseconds: number): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, Math.max(0, milliseconds));
  });
}

/** Memory that a process has in use (Linux; elsewhere NaN). */
async function residentMiB(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1] ?? NaN) / 1024);
}
