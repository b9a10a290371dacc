import { verify } from "@bikeshare/webhooks";
import { expect, test } from "vitest";
import { until } from "../../../test/until.ts";
import { type DispatchHarness, openDispatchHarness } from "../../../test/webhooks/dispatcher.harness.ts";
import { answered, type FarRequest } from "../../../test/webhooks/far.ts";
import { openListener } from "../../storage/db/listener.ts";
import { rotateSecret } from "../endpoints/endpoint-secrets.ts";

const HOUR = 3_600_000;

test("during a rotation every delivery is accepted by whoever knows the old secret alone, or the new one alone", async () => {
  const harness = await openDispatchHarness();
  const endpoint = await harness.endpoint();
  const stop = await sendAllTheTime(harness);
  try {
    const { systemId } = harness;
    const { partnerId } = endpoint;
    await until(() => harness.far.requests.length > 50);
    const { secret } = await rotateSecret(harness, { systemId, partnerId, overlap: 24 * HOUR });
    await until(() => signatures(harness.far.requests.at(-1)) === 2);
    const overlap = harness.far.requests.length;
    await until(() => harness.far.requests.length > overlap + 50);
    harness.clock.advance(23 * HOUR);
    const late = harness.far.requests.length;
    await until(() => harness.far.requests.length > late + 50);
    const during = harness.far.requests.slice(overlap);
    harness.clock.advance(HOUR);
    await until(() => signatures(harness.far.requests.at(-1)) === 1);
    const after = harness.far.requests.at(-1);

    expect(harness.far.requests.slice(0, 50).every((request) => signatures(request) === 1)).toBe(true);
    for (const request of harness.far.requests.slice(0, overlap)) await accepted(request, endpoint.secret);
    expect(during.length).toBeGreaterThan(100);
    for (const request of during) {
      await accepted(request, endpoint.secret);
      await accepted(request, secret);
    }
    await accepted(after, secret);
    await expect(accepted(after, endpoint.secret)).rejects.toThrow("No signature in the header matches the body");
  } finally {
    await stop();
    await harness.close();
  }
});

test("a rotation without overlap ends the old secret with the next delivery", async () => {
  const harness = await openDispatchHarness();
  const endpoint = await harness.endpoint();
  const stop = await sendAllTheTime(harness);
  try {
    const { systemId } = harness;
    const { partnerId } = endpoint;
    await until(() => harness.far.requests.length > 10);
    const { secret } = await rotateSecret(harness, { systemId, partnerId, overlap: 0 });
    const accepts = (request: FarRequest | undefined) =>
      accepted(request, secret).then(
        () => true,
        () => false,
      );
    await until(() => accepts(harness.far.requests.at(-1)));
    await expect(accepted(harness.far.requests.at(-1), endpoint.secret)).rejects.toThrow("No signature");
  } finally {
    await stop();
    await harness.close();
  }
});

/**
 * Starts a worker that listens for changed endpoints, and creates events without end.
 * @returns a function that stops both
 */
async function sendAllTheTime(harness: DispatchHarness): Promise<() => Promise<void>> {
  harness.far.respond = () => answered(204);
  const worker = harness.worker();
  const listener = openListener({
    connectionString: harness.db.connectionString,
    notifier: harness.db,
    on: { webhook_endpoints: (systemId) => worker.reload(systemId) },
    onGap: () => undefined,
  });
  await until(() => listener.listening());
  let stopped = false;
  const happening = (async () => {
    while (!stopped) await harness.happen();
  })();
  return async () => {
    stopped = true;
    await happening;
    await listener.close();
  };
}

function header(request: FarRequest | undefined): string {
  return request?.headers.find(([name]) => name === "Service-Signature")?.[1] ?? "";
}

function signatures(request: FarRequest | undefined): number {
  return header(request).split("v1=").length - 1;
}

/**
 * Verifies a request as a receiver would at the time of sending.
 * @throws WebhookVerificationError when the receiver would not accept it
 */
async function accepted(request: FarRequest | undefined, secret: string): Promise<void> {
  const sentAt = Number(/t=(\d+)/.exec(header(request))?.[1]);
  await verify(request?.body ?? "", header(request), secret, { now: () => sentAt * 1000 });
}
