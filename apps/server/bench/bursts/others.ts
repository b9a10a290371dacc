import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, createHttpClient, type HttpRequest, percentilesOf } from "@bikeshare/load";
import { upsertBikes } from "../../src/city/fleet/bike-commands.ts";
import { upsertStations } from "../../src/city/fleet/station-commands.ts";
import type { CommandContext } from "../../src/command-context.ts";
import { say } from "../processes.ts";
import { SYSTEM_ID } from "../provision.ts";

/* The other partner of the benches of bursts. Its latency shows what a burst of one caller costs everybody else. */

/** Milliseconds from a response to the other partner until its next request. */
export const PAUSE_MS = 20;

/** Sends a request, and records its latency under a name. */
type Ask = (name: string, expectedStatus: number, request: HttpRequest) => Promise<Answer>;

/** A kind of requests of the other partner, which sends each some time after the previous response. */
export interface OtherKind {
  readonly pauseMs: number;
  /** Sends the requests, one after the other. */
  readonly run: (ask: Ask) => Promise<unknown>;
}

/** Returns requests that read a list or a page repeatedly. */
export function reading(path: string, pauseMs: number): OtherKind {
  return { pauseMs, run: (ask) => ask(`GET ${path}`, 200, { path }) };
}

const STATION_ID = "bench-station";

/** Reserves a bike and cancels the reservation. */
export const reserving: OtherKind = {
  pauseMs: PAUSE_MS,
  async run(ask) {
    const body = JSON.stringify({ station_id: STATION_ID });
    const made = await ask("POST /v1/reservations", 201, { method: "POST", path: "/v1/reservations", body });
    const { id } = JSON.parse(made.body) as { id?: string };
    await ask("DELETE /v1/reservations/{id}", 200, { method: "DELETE", path: `/v1/reservations/${id}` });
  },
};

/** Creates the bikes that `reserving` reserves. */
export async function addReservableBikes(context: CommandContext): Promise<void> {
  await upsertStations(context, SYSTEM_ID, [{ item: { id: STATION_ID, name: STATION_ID, lat: 1, lon: 2 } }]);
  const bikes = Array.from({ length: 20 }, (_, n) => ({
    item: { id: `bench-bike-${n}`, station_id: STATION_ID, vehicle_state: "available" as const },
  }));
  await upsertBikes(context, SYSTEM_ID, bikes);
}

/** Measures the latency of other callers, alone and during a burst. */
export interface Others {
  measure(when: "quiet" | "busy", seconds: number): Promise<void>;
  /** Prints a table. @returns whether every p99 during the burst is below the limit, and nothing failed */
  report(maxP99Ms: number): boolean;
  /** The milliseconds of each request, by its name. */
  readonly waits: Readonly<Record<"quiet" | "busy", ReadonlyMap<string, number[]>>>;
  /** Returns how many requests got another status than expected. */
  failed(): number;
}

/** Creates the other partner. @param kinds what it sends, each kind one request at a time */
export function createOthers(url: string, key: string, kinds: readonly OtherKind[]): Others {
  const waits = { quiet: new Map<string, number[]>(), busy: new Map<string, number[]>() };
  let failed = 0;
  return {
    waits,
    failed: () => failed,
    async measure(when, seconds) {
      const client = createHttpClient(url, { connections: kinds.length });
      const until = performance.now() + seconds * 1000;
      const ask = async (name: string, expectedStatus: number, request: HttpRequest) => {
        const answer = await client.ask({ key, ...request });
        const times = waits[when].get(name) ?? [];
        waits[when].set(name, times);
        times.push(answer.endedAt - answer.startedAt);
        if (answer.status !== expectedStatus) failed++;
        return answer;
      };
      const follow = async ({ run, pauseMs }: OtherKind) => {
        while (performance.now() < until) {
          await run(ask);
          await sleep(pauseMs);
        }
      };
      await Promise.all(kinds.map(follow));
      client.close();
    },
    report(maxP99Ms) {
      say("| another partner's | quiet p50 / p99 / max ms | beside it p50 / p99 / max ms |\n|---|---|---|");
      const show = (times: readonly number[] = []) => {
        const { p50, p99, max } = percentilesOf(times);
        return [p50, p99, max].map((value) => value.toFixed(1)).join(" / ");
      };
      for (const [name, busy] of waits.busy) say(`| ${name} | ${show(waits.quiet.get(name))} | ${show(busy)} |`);
      const worst = Math.max(...[...waits.busy.values()].map((times) => percentilesOf(times).p99));
      const isGood = worst < maxP99Ms && failed === 0;
      say(`others' requests that failed: ${failed}; p99 of the others below ${maxP99Ms} ms: ${isGood ? "yes" : "NO"}`);
      return isGood;
    },
  };
}
