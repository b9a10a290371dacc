import { expect } from "vitest";
import { describeParity } from "../../../../packages/sdk/test/fake-parity.ts";
import type { ParityHarness } from "../../../../packages/sdk/test/fake.harness.ts";
import { sumSystem } from "../../src/city/history/sums.ts";
import { createSequencer } from "../../src/events/sequencer.ts";
import { createPartner } from "../../src/partners/service.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { startTestApp } from "../app.ts";
import { putReadyExport } from "../exports/ready-exports.ts";
import { expireOverdueReservations } from "../reservations/expire-overdue.ts";

const storedStations = statement("", "select json from stations where system_id = $1 order by id");

describeParity("the real service", openHarness);

const paths = {
  "stations.upsert": "stations",
  "stations.offline": "stations/offline",
  "stations.online": "stations/online",
  "stations.remove": "stations/remove",
  "bikes.upsert": "bikes",
  "rides.past": "rides",
  "rides.start": "rides/start",
  "rides.end": "rides/end",
  "rides.cancel": "rides/cancel",
  "rides.correct": "rides/correct",
} as const;

/** Opens a harness around the service, as production builds it, on a separate database. */
async function openHarness(): Promise<ParityHarness> {
  const app = await startTestApp();
  const { systemId } = app;
  const sequencer = createSequencer({ ...app, pollIntervalMs: 0, onError: rethrow });
  const operator = await app.issue({ partnerId: null, scopes: [] });
  const other = await createPartner({ ...app, actor: "test" }, systemId, "Another");
  return {
    baseUrl: app.url,
    fetch: (address, init) => fetch(address, init),
    key: async ({ scopes, rateLimit, isOtherPartners = false } = {}) => {
      const input = { ...(scopes && { scopes: [...scopes] }), ...(rateLimit && { rateLimit }) };
      return (await app.issue({ ...input, ...(isOtherPartners && { partnerId: other.id }) })).key;
    },
    operate: async (verb, item) => {
      const response = await fetch(`${app.url}/operator/v1/${paths[verb]}`, {
        method: "POST",
        headers: { authorization: `Bearer ${operator.key}`, "content-type": "application/json" },
        body: JSON.stringify({ items: [item] }),
      });
      const text = await response.text();
      if (response.status !== 200 || !text.includes(`"failed":0`)) throw new Error(`${verb}: ${text}`);
    },
    putExport: ({ id, ...facts }) => putReadyExport(app, id, facts),
    processSums: async () => void (await sumSystem({ ...app, monotonic: () => performance.now() }, systemId)),
    processDueWork: async () => {
      await expireOverdueReservations(app, systemId, 1000);
      await sequencer.runOnce(systemId);
      // Waits until the cached pages of stations show the change, of which the app is notified a moment later.
      const stored = await app.db.query<{ json: string }>(storedStations, [systemId]);
      const data = stored.map(({ json }): unknown => JSON.parse(json));
      await expect.poll(async () => (await app.get("/v1/stations?limit=200")).json()).toMatchObject({ data });
    },
    advance: (ms) => app.clock.advance(ms),
    close: async () => {
      await sequencer.close();
      await app.close();
    },
  };
}

function rethrow(error: unknown): never {
  throw error;
}
