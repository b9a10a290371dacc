import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, expect, it } from "vitest";
import { until } from "../../../test/until.ts";
import { type EndpointsHarness, openEndpointsHarness, otherCipher } from "../../../test/webhooks/endpoints.harness.ts";
import { createConditions } from "../../health/conditions/conditions.ts";
import { createMetrics } from "../../health/metrics/registry.ts";
import { startWebhookWorker } from "../worker.ts";
import { removeEndpoint } from "./endpoint-removal.ts";
import { recordServiceKey, rotateSecret } from "./endpoint-secrets.ts";
import { setEndpoint } from "./endpoint-settings.ts";
import { createSecretCipher, type SecretCipher } from "./secret.ts";

let harness: EndpointsHarness;
beforeEach(async () => {
  harness = await openEndpointsHarness();
});
afterEach(() => harness.close());

const scope = () => ({ systemId: harness.systemId, partnerId: harness.partnerId });
const setWith = (cipher: SecretCipher) =>
  setEndpoint({ ...harness, cipher }, { ...scope(), url: "https://partner.example/", events: ["ride.started"] });
const serveWith = (cipher: SecretCipher) => recordServiceKey({ ...harness, cipher }, harness.db, harness.systemId);
const notOurs =
  /This SECRETS_FILE is not the one that the service uses.+start `serve` with this one.+Nothing was changed/;

it("the first secret of all is refused with a secrets file other than the service's", async () => {
  await serveWith(harness.cipher);
  await expect(setWith(otherCipher())).rejects.toThrow(notOurs);
  expect(await harness.rows("select id from webhook_endpoints where system_id = $1")).toEqual([]);
  expect((await setWith(harness.cipher)).outcome).toBe("created");
});

it("the service says which secrets file it uses as soon as it sends", async () => {
  const metrics = createMetrics({ version: "test" });
  const logger = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const conditions = createConditions({ monotonic: () => 0, log: logger });
  const worker = startWebhookWorker({ ...harness, metrics, mailer: undefined, version: "test", logger, conditions });
  try {
    await until(
      async () => (await harness.rows("select from webhook_encryption_keys where system_id = $1")).length === 1,
    );
  } finally {
    await worker.close();
  }
  await expect(setWith(otherCipher())).rejects.toThrow(notOurs);
});

it("nor with another than an earlier secret, though none is left", async () => {
  await setWith(harness.cipher);
  await removeEndpoint(harness, scope());
  await expect(setWith(otherCipher())).rejects.toThrow(notOurs);
  expect((await setWith(harness.cipher)).outcome).toBe("created");
});

it("before any service and any secret, whichever file comes first counts", async () => {
  expect((await setWith(otherCipher())).outcome).toBe("created");
});

it("a service with a new file takes the place of one that is lost, while no secret signs", async () => {
  await serveWith(otherCipher());
  await serveWith(harness.cipher);
  expect((await setWith(harness.cipher)).outcome).toBe("created");
});

it("a service that cannot open what signs has no say", async () => {
  await setWith(harness.cipher);
  await serveWith(otherCipher());
  const rotated = await rotateSecret(harness, { ...scope(), overlap: 0 });
  expect(rotated.secret).toMatch(/^whsec_/);
});

it("a file with a new key in front and the old one behind it goes on, and the old file alone no longer does", async () => {
  const old = { id: 1, key: randomBytes(32) };
  const before = createSecretCipher([old]);
  const both = createSecretCipher([{ id: 2, key: randomBytes(32) }, old]);
  await setWith(before);
  await serveWith(both);
  await expect(rotateSecret({ ...harness, cipher: before }, { ...scope(), overlap: 0 })).rejects.toThrow(notOurs);
  expect((await rotateSecret({ ...harness, cipher: both }, { ...scope(), overlap: 0 })).secret).toMatch(/^whsec_/);
});

it("with the file lost for good, a rotation that says so makes the new one count", async () => {
  await setWith(otherCipher());
  await rotateSecret(harness, { ...scope(), overlap: 0, lost: true });
  expect((await rotateSecret(harness, { ...scope(), overlap: 0 })).secret).toMatch(/^whsec_/);
});
