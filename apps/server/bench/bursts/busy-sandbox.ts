import { join } from "node:path";
import { type Answer, createHttpClient, percentilesOf } from "@bikeshare/load";
import { issueKey } from "../../src/partners/keys/service.ts";
import { createSandbox } from "../../src/sandbox/service.ts";
import { onPostgres, say, serve } from "../processes.ts";
import { makePartner, openNewSystem, SYSTEM_ID } from "../provision.ts";
import { addReservableBikes, createOthers, PAUSE_MS, reading, reserving } from "./others.ts";

/*
 * A partner's tests send the most expensive requests to its sandbox, over ten connections and as often as the sandbox's rate
 * limit allows. Measures what that costs a partner with live data. Quiet and busy periods alternate, so that other load on
 * the machine affects both. `BENCH_PERIODS` sets their number.
 */

const PERIODS = Number(process.env["BENCH_PERIODS"] ?? 6);
/**
 * Seconds of a period. Two quiet and two busy ones are a minute, in which a sandbox answers at most 600 requests, which the
 * busy ones share.
 */
const PERIOD_SECONDS = 15;
/** Maximum p99 of another partner. */
const MAX_P99_MS = 100;
const CONNECTIONS = 10;
/** Keys of the sandbox. With each of them requests are sent one after another. */
const PARALLEL_KEYS = 10;
/** The paths below /sandbox/v1 that the tests request in turn. */
const REQUEST_PATHS = [
  "/scenarios/rush-hour",
  "/scenarios/rush-hour",
  "/scenarios/ride-corrected",
  "/events/bike.state_changed",
];
/** The city is reset every `RESET_EVERY` requests, so that it never reaches its limit of rides. */
const RESET_EVERY = 200;

export async function busySandbox(): Promise<void> {
  await onPostgres(async ({ directory, connectionString }) => {
    const context = await openNewSystem(connectionString);
    const tester = await makePartner(context, "Tester");
    const light = await makePartner(context, "Light");
    await addReservableBikes(context);
    const { sandbox } = await createSandbox(context, { systemId: SYSTEM_ID, partnerId: tester.partnerId });
    const sandboxKeys: string[] = [];
    const wanted = {
      systemId: sandbox.system_id,
      partnerId: sandbox.partner_id,
      scopes: ["stations:read"] as const,
      rateLimit: 600,
    };
    for (let n = 0; n < PARALLEL_KEYS; n++) sandboxKeys.push((await issueKey(context, wanted)).key);
    await context.db.close();
    const { url, stop } = await serve({ DATABASE_URL: connectionString, DATA_DIR: join(directory, "service") });
    const pages = ["/v1/rides", "/v1/stations", "/readyz"];
    const others = createOthers(url, light.key, [reserving, ...pages.map((path) => reading(path, PAUSE_MS))]);
    const answers: Answer[] = [];
    try {
      for (let period = 0; period < PERIODS; period++) {
        await others.measure("quiet", PERIOD_SECONDS);
        const busy = askForAll(url, sandboxKeys).then((all) => answers.push(...all));
        await Promise.all([others.measure("busy", PERIOD_SECONDS), busy]);
      }
    } finally {
      await stop();
    }
    const counts = Object.entries(Object.groupBy(answers, ({ outcome }) => outcome));
    const { p50, max } = percentilesOf(answers.map(({ startedAt, endedAt }) => endedAt - startedAt));
    say(`A sandbox is asked over ${CONNECTIONS} connections, ${PERIODS} periods of ${PERIOD_SECONDS} s.`);
    say(`its answers: ${counts.map(([outcome, all]) => `${all?.length} × ${outcome}`).join(", ")}`);
    say(`an answer p50 ${p50.toFixed(1)}, max ${max.toFixed(1)} ms`);
    others.report(MAX_P99_MS);
  });
}

/** Sends the requests to the sandbox, one after another on each connection, until the period ends. */
async function askForAll(url: string, keys: readonly string[]): Promise<Answer[]> {
  const client = createHttpClient(url, { connections: CONNECTIONS });
  const until = performance.now() + PERIOD_SECONDS * 1000;
  const answers: Answer[] = [];
  let sent = 0;
  const ask = async (key: string) => {
    while (performance.now() < until) {
      const turn = sent++;
      const isReset = turn % RESET_EVERY === RESET_EVERY - 1;
      const path = isReset ? "/reset" : REQUEST_PATHS[turn % REQUEST_PATHS.length];
      answers.push(await client.ask({ method: "POST", path: `/sandbox/v1${path}`, key, body: "{}" }));
    }
  };
  await Promise.all(keys.map(ask));
  client.close();
  return answers;
}
