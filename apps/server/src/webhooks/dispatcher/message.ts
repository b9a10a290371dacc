import { signSync } from "@bikeshare/webhooks/node";
import type { LiveSecret } from "../endpoints/endpoints.ts";

/** What one attempt says. */
export interface MessageInput {
  readonly event: string;
  readonly deliveryId: string;
  readonly occurredAt: Date;
  /** The resource's wire form, passed on as it is. */
  readonly data: string;
  /** The attempt's own time, in milliseconds since 1970. */
  readonly sentAt: number;
  readonly secrets: readonly LiveSecret[];
}

/** One attempt's bytes. */
export interface Message {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

/** Writes and signs an attempt. Every secret that is live at `sentAt` signs. */
export function composeMessage(input: MessageInput, userAgent: string): Message {
  const { event, deliveryId, occurredAt, data, sentAt } = input;
  const body =
    `{"event":${JSON.stringify(event)},"delivery_id":${JSON.stringify(deliveryId)}` +
    `,"occurred_at":"${occurredAt.toISOString()}","sent_at":"${new Date(sentAt).toISOString()}","data":${data}}`;
  const secrets = input.secrets.flatMap(({ text, expiresAt }) =>
    expiresAt === null || expiresAt > sentAt ? [text] : [],
  );
  const signature = signSync({ body, secrets, timestamp: Math.floor(sentAt / 1000) });
  return {
    body,
    headers: [
      ["Content-Type", "application/json"],
      ["Service-Signature", signature],
      ["User-Agent", userAgent],
    ],
  };
}
