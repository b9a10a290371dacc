import type { Socket } from "node:net";
import { onTestFinished } from "vitest";
import { NetworkList } from "../../src/outbound/addresses/address-guard.ts";
import type { AttemptResult } from "../../src/webhooks/rules/after-attempt.ts";
import { createSender, type Sender, type SenderOptions } from "../../src/webhooks/sender/sender.ts";
import { type RawReceiver, startReceiver } from "../servers/raw-receiver.ts";

export const anyPort = [{ from: 1, to: 65_535 }];
export const loopback = { allowNetworks: new NetworkList(["127.0.0.0/8"]), allowPorts: anyPort };

/**
 * Short time limits, only for tests of receivers that hang. Other tests use the production limits, because responses can be
 * late on a busy machine. Too low: an attempt ends before a slow machine has received the part of the response that a test
 * expects.
 */
export const shortLimits = { dnsTimeoutMs: 1_000, connectTimeoutMs: 1_000, totalTimeoutMs: 2_000 };

/** Opens a sender that may call loopback. It is closed when the test ends. */
export function openSender(options: Partial<SenderOptions> = {}): Sender {
  const sender = createSender({ rules: loopback, ...options });
  onTestFinished(() => sender.close());
  return sender;
}

/** Opens a receiver. It is closed when the test ends. */
export async function openReceiver(...args: Parameters<typeof startReceiver>): Promise<RawReceiver> {
  const receiver = await startReceiver(...args);
  onTestFinished(() => receiver.close());
  return receiver;
}

/** Sends a small POST. */
export function post(sender: Sender, url: string, body: string | Uint8Array = "{}"): Promise<AttemptResult> {
  return sender.send({ url, headers: [["Content-Type", "application/json"]], body });
}

/** Waits until a condition holds, for a minute at most. */
export async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 60_000;
  while (!condition()) {
    if (performance.now() > end) throw new Error("It did not come to hold within a minute.");
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

/** Writes as long as the other side reads, and pauses while its buffer is full. */
export function writeForEver(socket: Socket, chunk: string | Buffer): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on("drain", more);
  more();
}

/** Writes one piece every few milliseconds. */
export function trickle(socket: Socket, piece: string): void {
  const timer = setInterval(() => socket.write(piece), 5);
  socket.once("close", () => clearInterval(timer));
}

/** Returns the expected fields of a failed attempt. */
export function failed(failure: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { outcome: "failed", failure, ...more };
}
