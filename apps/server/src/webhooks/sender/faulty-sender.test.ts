import { expect, it } from "vitest";
import { answer } from "../../../test/servers/raw-receiver.ts";
import { openReceiver, openSender, post } from "../../../test/webhooks/sender.harness.ts";
import { createFaultySender } from "./faulty-sender.ts";

it("once it is closed, no delivery waits or is sent twice: a stop of the service does not take as long as a test asks for", async () => {
  const receiver = await openReceiver((socket) => socket.write(answer("200 OK")));
  const faults = { delay: 10, duplicate: true, reorder: true, bad_signature: false, down: false };
  const sender = createFaultySender(
    openSender(),
    () => faults,
    () => 0,
  );
  const begun = performance.now();
  const sent = post(sender, receiver.url);
  await sender.close();
  expect(await sent).toMatchObject({ outcome: "succeeded" });
  expect(performance.now() - begun).toBeLessThan(3_000);
  expect(receiver.received.join("").match(/POST /g)).toHaveLength(1);
});
