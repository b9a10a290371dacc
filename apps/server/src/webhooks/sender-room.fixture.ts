import { onTestFinished } from "vitest";
import { startReceiver } from "./receiver.fixture.ts";
import type { RawReceiver } from "./receiver.fixture.ts";
import { createSender } from "./sender.ts";
import type { AttemptResult, Sender, SenderOptions } from "./sender.ts";

export const anyPort = [{ from: 1, to: 65_535 }];
export const loopback = { allowNetworks: ["127.0.0.0/8"], allowPorts: anyPort };

/** Times of a tenth and less: what answers does so at once, and what hangs ends within a test. */
export const shortLimits = { dnsMs: 250, connectMs: 300, totalMs: 600, staggerMs: 50 };

/** A sender that reaches loopback, closed when the test ends. */
export function openSender(options: Partial<SenderOptions> = {}): Sender {
  const sender = createSender({ rules: loopback, limits: shortLimits, ...options });
  onTestFinished(() => sender.close());
  return sender;
}

/** A receiver, closed when the test ends. */
export async function openReceiver(...args: Parameters<typeof startReceiver>): Promise<RawReceiver> {
  const receiver = await startReceiver(...args);
  onTestFinished(() => receiver.close());
  return receiver;
}

/** Sends a small POST. */
export function post(sender: Sender, url: string, body: string | Uint8Array = "{}"): Promise<AttemptResult> {
  return sender.send({ url, headers: [["Content-Type", "application/json"]], body });
}

/** Waits until a condition holds, for a second at most. */
export async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 1_000;
  while (!condition()) {
    if (performance.now() > end) throw new Error("It did not come to hold within a second.");
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}
