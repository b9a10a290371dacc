import { signSync, standardHeadersSync } from "@bikeshare/webhooks/node";
import type { LiveSecret, SignatureSchemes } from "../endpoints/endpoints.ts";

/** What one attempt says. */
export interface MessageInput {
  readonly event: string;
  readonly deliveryId: string;
  readonly occurredAt: Date;
  /** The resource's JSON, passed on as it is. */
  readonly data: string;
  /** The attempt's own time, in milliseconds since 1970. */
  readonly sentAt: number;
  readonly secrets: readonly LiveSecret[];
  readonly signature: SignatureSchemes;
}

/** One attempt's bytes. */
export interface Message {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

/**
 * Writes and signs an attempt. Every secret that is live at `sentAt` signs; by the Standard Webhooks specification as well
 * where the endpoint asks for it, except with secrets from before it did, which that specification's libraries cannot read.
 */
export function composeMessage(input: MessageInput, userAgent: string): Message {
  const { event, deliveryId, occurredAt, data, sentAt } = input;
  const body =
    `{"event":${JSON.stringify(event)},"delivery_id":${JSON.stringify(deliveryId)}` +
    `,"occurred_at":"${occurredAt.toISOString()}","sent_at":"${new Date(sentAt).toISOString()}","data":${data}}`;
  const secrets = input.secrets.flatMap(({ text, expiresAt }) =>
    expiresAt === null || expiresAt > sentAt ? [text] : [],
  );
  const timestamp = Math.floor(sentAt / 1000);
  const standard = input.signature === "both" ? standardHeadersSync({ id: deliveryId, timestamp, body, secrets }) : [];
  return {
    body,
    headers: [
      ["Content-Type", "application/json"],
      ["Service-Signature", signSync({ body, secrets, timestamp })],
      ...standard,
      ["User-Agent", userAgent],
    ],
  };
}
