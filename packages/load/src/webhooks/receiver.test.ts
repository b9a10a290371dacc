import { createTestDelivery, signedRequest } from "@bikeshare/webhooks/testing";
import { expect, it, onTestFinished } from "vitest";
import { startReceiver } from "./receiver-process.ts";

const SECRETS = ["whsec_load-test-secret-of-the-first-endpoint", "whsec_load-test-secret-of-the-second-endpoint"];

async function receiverWithSecrets() {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  await receiver.useSecrets(SECRETS);
  const send = async (
    endpoint: 0 | 1,
    event: "ride.started" | "ride.completed",
    rideId: string,
    more: { deliveryId?: string; secret?: string } = {},
  ) => {
    const { data } = createTestDelivery({ event });
    const { deliveryId = `${event}-${rideId}-${endpoint}`, secret = SECRETS[endpoint] } = more;
    const { url, headers, body } = await signedRequest({
      ...{ event, deliveryId, secret, url: receiver.urlOf(endpoint) },
      data: { ...data, id: rideId },
    });
    return (await fetch(url, { method: "POST", headers, body })).status;
  };
  return { receiver, send };
}

it("what is lost, repeated, out of order or not signed is counted, each as what it is", async () => {
  const { receiver, send } = await receiverWithSecrets();
  expect(await send(0, "ride.started", "a")).toBe(204);
  expect(await send(0, "ride.completed", "a")).toBe(204);
  // The second endpoint sees the end before the start, and one delivery twice.
  expect(await send(1, "ride.completed", "a")).toBe(204);
  expect(await send(1, "ride.started", "a")).toBe(204);
  expect(await send(1, "ride.started", "a")).toBe(204);
  // The start of ride b reaches only one endpoint. Its end reaches none: it is signed with the other endpoint's secret.
  expect(await send(0, "ride.started", "b")).toBe(204);
  expect(await send(0, "ride.completed", "b", { secret: SECRETS[1]! })).toBe(400);
  // This event is not among the expected ones.
  expect(await send(1, "ride.started", "c")).toBe(204);
  const events = ["ride.started a", "ride.completed a", "ride.started b", "ride.completed b"];
  expect(await receiver.result(events, 0)).toMatchObject({
    endpoints: 2,
    expected: 8,
    received: 5,
    lost: 3,
    repeated: 1,
    reordered: 1,
    unverified: 1,
    examples: ["ride.completed b", "ride.started b", "ride.completed b"],
  });
});

it("waits for deliveries that are still under way", async () => {
  const { receiver, send } = await receiverWithSecrets();
  const result = receiver.result(["ride.started a"]);
  await send(0, "ride.started", "a");
  await send(1, "ride.started", "a");
  expect(await result).toMatchObject({ expected: 2, received: 2, lost: 0, repeated: 0 });
});

it("a receiver whose process ends fails the run, and leaves nobody waiting", async () => {
  const receiver = await startReceiver();
  process.kill(receiver.pid, "SIGKILL");
  await expect(receiver.result(["ride.started a"])).rejects.toThrow("The receiver process has ended (SIGKILL).");
  await expect(receiver.count()).rejects.toThrow("The receiver process has ended");
  await receiver.close();
});
