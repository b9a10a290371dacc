import { scopeNames } from "@bikeshare/contract";
import { afterAll, beforeAll } from "vitest";
import { type ClientHarness, describeClient } from "../../../../packages/sdk/test/client-suite.ts";
import { createSequencer } from "../../src/events/sequencer.ts";
import { issueKey } from "../../src/partners/keys/service.ts";
import { createSandbox, emptySandbox } from "../../src/sandbox/service.ts";
import { startTestApp, type TestApp } from "../app.ts";
import { buildAnother, type BuiltApp, keyContext } from "../built-app.ts";
import { bikeRow, rideRow, rowWriter, stationRow } from "../rows.ts";
import { until } from "../until.ts";

/** The service with live data and a sandbox, which both test suites share. */
let live: TestApp;
beforeAll(async () => {
  live = await startTestApp();
});
afterAll(() => live.close());

describeClient("the real service, with a live key", () => openHarness(live));
describeClient("the real service, with the key of a sandbox", async () => openHarness(await openSandbox()));

/** An address at which nothing listens. */
const AWAY = "http://127.0.0.1:1";

/** Returns the app as seen by a partner's sandbox, whose city is emptied. */
async function openSandbox(): Promise<TestApp> {
  const context = keyContext(live);
  const { sandbox } = await createSandbox(context, live);
  const systemId = sandbox.system_id;
  await emptySandbox(context, systemId);
  const issue: TestApp["issue"] = (input = {}) =>
    issueKey(context, { partnerId: live.partnerId, scopes: scopeNames, rateLimit: 1_000_000, ...input, systemId });
  return { ...live, systemId, issue };
}

/** Opens a harness around an app, as production builds it. */
async function openHarness(app: TestApp): Promise<ClientHarness> {
  const write = rowWriter(app);
  const sequencer = createSequencer({ ...app, pollIntervalMs: 0, onError: rethrow });
  let another: BuiltApp | undefined;
  let url = app.url;
  let refused = 0;
  let rides = 0;
  const rideStart = Date.parse("2026-05-01T08:00:00.000Z");
  return {
    baseUrl: app.url,
    // Redirects requests, because the restarted service listens at another address.
    fetch: (address, init) => {
      if (url === AWAY) refused++;
      return fetch(address.replace(app.url, url), init);
    },
    key: async ({ scopes, rateLimit } = {}) =>
      (await app.issue({ ...(scopes && { scopes: [...scopes] }), ...(rateLimit && { rateLimit }) })).key,
    addStations: (ids) => write.stations(ids.map((id) => stationRow({ id, region_id: "centre" }))),
    addRides: (ids) =>
      write.rides(ids.map((id) => rideRow({ id, started_at: new Date(rideStart + rides++ * 1000).toISOString() }))),
    addBikes: (station, ids) => write.bikes(ids.map((id) => bikeRow({ id, station_id: station }))),
    flushEvents: async () => void (await sequencer.runOnce(app.systemId)),
    now: () => app.clock(),
    advance: (ms) => app.clock.advance(ms),
    restart: async (work) => {
      // Started in advance, because on a busy machine the start takes longer than the client retries.
      const next = await buildAnother(app);
      another = next;
      // At first nothing answers the client's requests. Later, the new service does.
      url = AWAY;
      const done = work();
      await until(() => refused > 0);
      url = next.url;
      await done;
    },
    close: async () => {
      await another?.close();
      await sequencer.close();
    },
  };
}

function rethrow(error: unknown): never {
  throw error;
}
