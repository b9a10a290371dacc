import { deliveryIdOf } from "../../delivery-id.ts";
import type { EventRecord } from "../../json-types.generated.ts";
import { VERSION } from "../../version.ts";
import { sign, SIGNATURE_HEADER } from "../../webhooks.ts";

/** Timeout of a whole request, as in the service. Too low: a receiver fails here that works in production. */
const TIMEOUT_MS = 15_000;
/**
 * After so many bytes no more of a response is read, and so many characters are shown. Too low: cuts off reasons. Too high:
 * an error page fills the terminal.
 */
const MAX_REASON_BYTES = 200;

/** The outcome of one POST. */
export type Outcome =
  /** `reason` is the beginning of the response's body. */
  | { readonly kind: "response"; readonly status: number; readonly reason: string }
  /** Nothing listens at the address. */
  | { readonly kind: "connection_refused" }
  | { readonly kind: "error"; readonly reason: string };

/** A webhook to be sent. */
export interface Webhook {
  readonly event: EventRecord;
  readonly target: URL;
  readonly secret: string;
  /** Milliseconds since 1970. */
  readonly sentAt: number;
}

/** The endpoint's part of a delivery id. The service's own deliveries of the same event have another one. */
export const ENDPOINT = "listen";

/**
 * POSTs an event as the service does: with a body and a `Service-Signature` of the same form, and without following
 * redirects.
 *
 * @throws the signal's reason
 */
export async function sendWebhook({ event, target, secret, sentAt }: Webhook, signal: AbortSignal): Promise<Outcome> {
  const body = JSON.stringify({
    event: event.event,
    delivery_id: deliveryIdOf(event.id, ENDPOINT),
    occurred_at: event.occurred_at,
    sent_at: new Date(sentAt).toISOString(),
    data: event.data,
  });
  const signature = await sign({ body, secrets: secret, timestamp: Math.floor(sentAt / 1000) });
  const headers = {
    "content-type": "application/json",
    [SIGNATURE_HEADER]: signature,
    "user-agent": `bikeshare-sdk/${VERSION} listen`,
  };
  const limited = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    const response = await fetch(target, { method: "POST", headers, body, redirect: "manual", signal: limited });
    return { kind: "response", status: response.status, reason: await readReason(response) };
  } catch (error) {
    signal.throwIfAborted();
    return outcomeOf(error, limited.aborted);
  }
}

async function readReason(response: Response): Promise<string> {
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let bytes = 0; reader !== undefined && bytes < MAX_REASON_BYTES;) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.length;
    text += decoder.decode(value, { stream: true });
  }
  await reader?.cancel();
  return text.slice(0, MAX_REASON_BYTES).trim();
}

function outcomeOf(error: unknown, isTimeout: boolean): Outcome {
  if (isTimeout) return { kind: "error", reason: `no response within ${TIMEOUT_MS / 1000} s` };
  const cause: unknown = error instanceof Error ? (error.cause ?? error) : error;
  const { code, message } = (cause ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  // When a host has several addresses and all refuse, the AggregateError has this code too.
  if (code === "ECONNREFUSED") return { kind: "connection_refused" };
  return { kind: "error", reason: String(message || code || cause) };
}
