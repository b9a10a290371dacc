import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { createTestClock } from "@bikeshare/test-kit";
import { verify } from "@bikeshare/webhooks";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type CliHarness, openCliHarness } from "../../test/cli/cli.harness.ts";
import { until } from "../../test/until.ts";
import { createConditions } from "../health/conditions/conditions.ts";
import { createMetrics } from "../health/metrics/registry.ts";
import { createIds } from "../ids.ts";
import { NetworkList } from "../outbound/addresses/address-guard.ts";
import { createPartner } from "../partners/service.ts";
import { setEndpoint } from "../webhooks/endpoints/endpoint-settings.ts";
import { createSecretCipher } from "../webhooks/endpoints/secret.ts";
import { countWorkers } from "../webhooks/queue/lane-queries.ts";
import { type Dispatcher, startWebhookWorker } from "../webhooks/worker.ts";
import { registerWebhooks } from "./webhooks.ts";

const clock = createTestClock();
let harness: CliHarness;
let receiver: Server;
let worker: Dispatcher;
let partner: string;
let secret: string;
/** The status with which the receiver answers, and the messages whose signature it has verified. */
let status: number;
let verified: string[];

beforeEach(async () => {
  harness = await openCliHarness({ register: registerWebhooks, clock });
  status = 204;
  verified = [];
  receiver = createServer((request, response) => {
    const take = async () => {
      const header = String(request.headers["service-signature"]);
      const { event } = await verify(await buffer(request), header, secret, { now: clock });
      verified.push(event);
      response.writeHead(status).end();
    };
    take().catch(() => response.writeHead(400).end());
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  // `address()` returns an AddressInfo because the server listens on a TCP port.
  const { port } = receiver.address() as AddressInfo;
  const rules = { allowNetworks: new NetworkList(["127.0.0.0/8"]), allowPorts: [{ from: port, to: port }] };
  const cipher = createSecretCipher([{ id: 1, key: Buffer.alloc(32, 7) }]);
  const context = { db: harness.db, clock, ids: createIds(clock), actor: "test", cipher, rules };
  partner = (await createPartner(context, harness.systemId, "Partner 1")).id;
  const endpoint = { systemId: harness.systemId, partnerId: partner, url: `http://127.0.0.1:${port}/hooks` };
  secret = (await setEndpoint(context, { ...endpoint, events: ["ride.completed"] })).secret ?? "";
  const metrics = createMetrics({ version: "test" });
  const logger = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const conditions = createConditions({ monotonic: clock, log: logger });
  worker = startWebhookWorker({ ...context, metrics, mailer: undefined, version: "test", logger, conditions });
  await until(async () => (await countWorkers(harness.db, harness.systemId)) === 1);
});
afterEach(async () => {
  await worker.close();
  receiver.closeAllConnections();
  receiver.close();
  await harness.close();
});

it("test sends a signed example through the running service, and shows the whole exchange", async () => {
  const { stdout } = await harness.run("webhooks", "test", "--partner", partner);
  expect(verified).toEqual(["ride.completed"]);
  expect(stdout).toMatch(/^delivery +delivery_\w+_test\nevent +ride\.completed\n/);
  expect(stdout).toMatch(/^status +succeeded\nexplanation +arrived .+ at attempt 1, answered 204$/m);
  expect(stdout).toMatch(/^> Service-Signature: t=\d+,v1=[0-9a-f]{64}$/m);
  expect(stdout).toMatch(/^> \{"event":"ride\.completed","delivery_id":"delivery_\w+_test",/m);
  expect(stdout).toMatch(/^< 204$/m);
  expect((await harness.run("webhooks", "deliveries", "--partner", partner)).stdout).toContain("_test");
});

it("test sends the event that is named", async () => {
  const args = ["--json", "webhooks", "test", "--partner", partner, "--event", "station.updated"];
  expect(JSON.parse((await harness.run(...args)).stdout)).toMatchObject({
    status: "succeeded",
    event: "station.updated",
  });
  expect(verified).toEqual(["station.updated"]);
  const wrong = harness.run("webhooks", "test", "--partner", partner, "--event", "rides");
  await expect(wrong).rejects.toThrow(/must be one of ride.started/);
});

it("test that is not answered with success shows the answer, and ends as failed", async () => {
  status = 503;
  const ended = harness.run("webhooks", "test", "--partner", partner);
  await expect(ended).rejects.toThrow("The endpoint did not receive the test.");
  expect(harness.written.stdout).toMatch(
    /^status +failed\nexplanation +given up .+ answered 503; a test is tried once$/m,
  );
  expect(harness.written.stdout).toMatch(/^< 503$/m);
});

it("test to where nobody listens says that nothing was written", async () => {
  receiver.closeAllConnections();
  receiver.close();
  await expect(harness.run("webhooks", "test", "--partner", partner)).rejects.toThrow(/did not receive/);
  expect(harness.written.stdout).toMatch(/refused the connection/);
  expect(harness.written.stdout).toMatch(/\(nothing of it was written\)$/m);
});

it("test without a service that sends is refused", async () => {
  await worker.close();
  await expect(harness.run("webhooks", "test", "--partner", partner)).rejects.toThrow(/start `serve`, then try again/);
});
