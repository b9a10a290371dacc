import { once } from "node:events";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { pause, type Percentiles, percentiles } from "./heavy-partner.ts";
import type { ViewerData } from "./viewer.worker.ts";

/*
 * One viewer of a partner's pages who asks for what takes longest, all at once and as often as its session allows, and what
 * that costs another partner. Quiet and loaded periods follow each other, so that what else the machine does is in both.
 */

/** A running service with a large delivery log. */
export interface HeavyViewerSubject {
  readonly url: string;
  readonly systemId: string;
  /** Whose pages the viewer reads, and the cookie of the viewer's session. */
  readonly partnerId: string;
  readonly cookie: string;
  /** Another partner's key, with a rate that is never reached, and a station of operated bikes. */
  readonly lightKey: string;
  readonly stationId: string;
  readonly periods: number;
  readonly periodSeconds: number;
}

export interface HeavyViewerFigures {
  /** Of the viewer's answers, by status; `dropped`: the viewer left before the end. */
  readonly answers: Readonly<Record<string, number>>;
  readonly others: Readonly<Record<string, { readonly quiet: Percentiles; readonly busy: Percentiles }>>;
  /** Others' requests that were not answered as they should be. */
  readonly failed: number;
}

/** Milliseconds between two of the others' requests of a kind. */
const PACE_MS = 20;
export async function measureHeavyViewer(subject: HeavyViewerSubject): Promise<HeavyViewerFigures> {
  const quiet = new Map<string, number[]>();
  const busy = new Map<string, number[]>();
  const answers: Record<string, number> = {};
  let failed = 0;
  const { url, systemId, partnerId, cookie, periodSeconds } = subject;
  const data: ViewerData = {
    ...{ url: `${url}/console/v1/systems/${systemId}/partners/${partnerId}`, cookie },
    burstMilliseconds: periodSeconds * 1_000,
  };
  const viewer = new Worker(join(import.meta.dirname, "viewer.worker.ts"), { workerData: data });
  for (let period = 0; period < subject.periods; period++) {
    failed += await measureOthers(subject, quiet);
    const [failedBeside] = await Promise.all([measureOthers(subject, busy), askForAll(viewer, answers)]);
    failed += failedBeside;
  }
  await viewer.terminate();
  const others = Object.fromEntries(
    [...quiet].map(([name, times]) => [name, { quiet: percentiles(times), busy: percentiles(busy.get(name) ?? []) }]),
  );
  return { answers, others, failed };
}

/** Has the viewer ask for everything, until the period is over. */
async function askForAll(viewer: Worker, answers: Record<string, number>): Promise<void> {
  const ended = once(viewer, "message");
  viewer.postMessage("burst");
  const [counts] = (await ended) as [Record<string, number>];
  for (const [what, n] of Object.entries(counts)) answers[what] = (answers[what] ?? 0) + n;
}

/** @returns how many failed */
async function measureOthers(
  { url, lightKey, stationId, periodSeconds }: HeavyViewerSubject,
  times: Map<string, number[]>,
): Promise<number> {
  const headers = { authorization: `Bearer ${lightKey}`, "content-type": "application/json" };
  const until = performance.now() + periodSeconds * 1000;
  let failed = 0;
  const send = async (name: string, expected: number, path: string, init: RequestInit = {}): Promise<unknown> => {
    const begun = performance.now();
    const answer = await fetch(url + path, { headers, ...init });
    const body: unknown = await answer.json();
    times.set(name, [...(times.get(name) ?? []), performance.now() - begun]);
    if (answer.status !== expected) failed++;
    return body;
  };
  const kinds = [
    async () => {
      const init = { method: "POST", body: JSON.stringify({ station_id: stationId }) };
      const made = (await send("POST /v1/reservations", 201, "/v1/reservations", init)) as { id?: string };
      await send("DELETE /v1/reservations/{id}", 200, `/v1/reservations/${made.id}`, {
        method: "DELETE",
        headers: { authorization: headers.authorization },
      });
    },
    () => send("GET /v1/rides", 200, "/v1/rides"),
    () => send("GET /v1/reservations?status=active", 200, "/v1/reservations?status=active"),
    () => send("GET /readyz", 200, "/readyz"),
  ];
  await Promise.all(
    kinds.map(async (kind) => {
      while (performance.now() < until) {
        await kind();
        await pause(PACE_MS);
      }
    }),
  );
  return failed;
}
