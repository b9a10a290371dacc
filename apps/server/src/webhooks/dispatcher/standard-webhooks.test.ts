import { verify } from "@bikeshare/webhooks";
import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { until } from "../../../test/until.ts";
import {
  type DispatchHarness,
  type HarnessEndpoint,
  loopback,
  openDispatchHarness,
} from "../../../test/webhooks/dispatcher.harness.ts";
import type { FarRequest } from "../../../test/webhooks/far.ts";
import { loadEndpoints } from "../endpoints/dispatch-endpoints.ts";
import { rotateSecret } from "../endpoints/endpoint-secrets.ts";
import { setEndpoint } from "../endpoints/endpoint-settings.ts";

let harness: DispatchHarness;
let endpoint: HarnessEndpoint;
/** How many reads of the settings have begun, and the number of the latest read that has ended. */
let reads: { begun: number; ended: number };
beforeEach(async () => {
  reads = { begun: 0, ended: 0 };
  harness = await openDispatchHarness();
  endpoint = await harness.endpoint();
});
afterEach(() => harness.close());

const scope = () => ({ systemId: harness.systemId, partnerId: endpoint.partnerId });
const set = (signature: "service" | "both") => setEndpoint({ ...harness, rules: loopback }, { ...scope(), signature });

/** Starts a dispatcher and counts its reads of the settings, which `next` waits for. */
function startWorker(): void {
  harness.worker({
    loadEndpoints: async (db, systemId) => {
      const read = ++reads.begun;
      const endpoints = await loadEndpoints({ db, cipher: harness.cipher }, systemId);
      reads.ended = read;
      return endpoints;
    },
  });
}

/** Waits for the next delivery that is sent with the current settings, and returns its request. */
async function next(): Promise<FarRequest> {
  const before = harness.far.requests.length;
  const { begun } = reads;
  harness.reload();
  // A cycle that runs now may have read the old settings, and would send the next event's delivery with them.
  await until(() => reads.ended > begun);
  await harness.happen();
  await until(() => harness.far.requests.length > before);
  await harness.drained();
  const request = harness.far.requests.at(-1);
  if (request === undefined) throw new Error("nothing came");
  return request;
}

const standardHeaders = ({ headers }: FarRequest) =>
  Object.fromEntries(headers.filter(([name]) => name.startsWith("webhook-")));
const ours = ({ headers }: FarRequest) => headers.find(([name]) => name === "Service-Signature")?.[1];

/** Verifies a request with the specification's own library, at the time of the test's clock. */
function verifiedByLibrary(request: FarRequest, secret: string): unknown {
  vi.useFakeTimers({ toFake: ["Date"], now: harness.clock() });
  try {
    return new Webhook(secret).verify(request.body, standardHeaders(request));
  } finally {
    vi.useRealTimers();
  }
}
const verifiedByUs = (request: FarRequest, secret: string) =>
  verify(request.body, ours(request), secret, { now: harness.clock });

test("an endpoint that asks for both is signed so that the specification's library and ours verify it, in a rotation too", async () => {
  const made = await set("both");
  const secret = made.secret ?? "";
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(made.old_secrets_end_at?.getTime()).toBe(harness.clock() + 24 * 3_600_000);
  startWorker();
  const first = await next();
  expect(standardHeaders(first)).toEqual({
    "webhook-id": first.deliveryId,
    "webhook-timestamp": String(Math.floor(harness.clock() / 1000)),
    "webhook-signature": expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/) as string,
  });
  expect(verifiedByLibrary(first, secret)).toEqual(JSON.parse(first.body));
  // The old secret, which has the other form, also signs Service-Signature for a day.
  for (const text of [secret, endpoint.secret]) await verifiedByUs(first, text);

  const rotated = await rotateSecret(harness, { ...scope(), overlap: 3_600_000 });
  const second = await next();
  expect(standardHeaders(second)["webhook-signature"]).toMatch(/^v1,\S+ v1,\S+$/);
  for (const text of [secret, rotated.secret]) {
    expect(verifiedByLibrary(second, text)).toEqual(JSON.parse(second.body));
    await verifiedByUs(second, text);
  }
  expect(() => verifiedByLibrary({ ...second, body: `${second.body} ` }, secret)).toThrow("No matching signature");
});

test("any other endpoint gets Service-Signature alone, and so does one that asks for it again", async () => {
  startWorker();
  expect(standardHeaders(await next())).toEqual({});
  await set("both");
  expect(Object.keys(standardHeaders(await next()))).toHaveLength(3);
  const { secret, outcome } = await set("service");
  expect([secret, outcome]).toEqual([null, "changed"]);
  const last = await next();
  expect(standardHeaders(last)).toEqual({});
  expect(Object.keys(JSON.parse(last.body) as object)).toEqual([
    "event",
    "delivery_id",
    "occurred_at",
    "sent_at",
    "data",
  ]);
});

test("one damaged secret stops its own endpoint, with what to do, and no other; a new secret ends that", async () => {
  const other = await harness.endpoint();
  await harness.rows(
    "update webhook_secrets set encrypted = substr(encrypted, 1, length(encrypted) - 4) || 'AAAA' where system_id = $1 and endpoint_id = $2",
    endpoint.id,
  );
  const damaged: string[] = [];
  const worker = harness.worker({
    loadEndpoints: (db, systemId) =>
      loadEndpoints({ db, cipher: harness.cipher }, systemId, ({ message }) => void damaged.push(message)),
  });
  await harness.happen(3);
  await harness.drained(other.id);
  expect(harness.far.received(endpoint.url)).toEqual([]);
  expect(damaged[0]).toContain(`of ${endpoint.id} is damaged`);
  expect(worker.errors).toEqual([]);
  await rotateSecret(harness, { ...scope(), overlap: 0 });
  harness.reload();
  await harness.drained(endpoint.id);
  expect(harness.far.received(endpoint.url)).toHaveLength(3);
});
