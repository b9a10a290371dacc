import { z } from "zod";
import { RATE_WINDOW_SECONDS } from "./limits.ts";
import { namedObject } from "./named-object.ts";
import { scopeNames } from "./scopes.ts";
import { identifier, timestamp } from "./values.ts";

export const me = namedObject("Me", "The key that sent the request, and its limits.", {
  key_id: identifier,
  partner: z.object({ id: identifier, name: z.string() }).strict(),
  scopes: z.array(z.enum(scopeNames)),
  expires_at: timestamp.nullable().describe("Null: the key does not expire"),
  rate_limit: z
    .object({
      limit: z.number().int().min(1).describe(`Requests in any ${RATE_WINDOW_SECONDS} s`),
      remaining: z.number().int().min(0).describe("Requests left, after this request"),
      reset_seconds: z.number().int().min(0).describe("Seconds until one more request is allowed"),
    })
    .strict(),
  reservations: z
    .object({
      limit: z.number().int().min(1).describe("Active reservations that you may have at once, by all your keys"),
      active: z.number().int().min(0).describe("Active reservations that you have now"),
    })
    .strict(),
});
export type Me = z.infer<typeof me>;
