import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { errorBody } from "../errors.ts";
import { MAX_KEY_NAME, MAX_OWN_KEY_DAYS, MAX_OWN_KEYS, MAX_RATE_LIMIT } from "../limits.ts";
import { issueText } from "../messages.ts";
import { scopeNames } from "../scopes.ts";
import { isPlainName } from "../text-rules.ts";
import { givenInstant, givenOnce, identifier, identifierParam, timestamp } from "../values.ts";
import { consoleBodyErrors, consoleErrors, consoleNeeds, partnerPath, systemPath } from "./endpoint.ts";

/*
 * API keys on the dashboard. The operator makes keys for partners. A partner's own people make keys too, as far as the
 * operator's allowance permits. A rotation replaces a key; both keys work for some hours.
 */

/** A key as the pages show it, without its secret text. */
const shownKey = z
  .object({
    id: identifier,
    partner_id: identifier.nullable().describe("Null: an operator key"),
    partner_name: z.string().nullable(),
    name: z.string().nullable(),
    prefix: z.string().describe("How the key begins, such as `bss_live_`"),
    last4: z.string(),
    scopes: z.array(z.string()),
    rate_limit: z.number().int().min(1).describe("Requests in any 60 s"),
    has_own_rate_limit: z.boolean(),
    made_by_partner: z.boolean().describe("True: made by the partner's own people, within the operator's allowance"),
    exceeds_allowance: z.boolean().describe("True: the key works, but exceeds what the allowance permits now"),
    status: z.enum(["active", "expired", "revoked", "suspended"]),
    created_at: timestamp,
    expires_at: timestamp.nullable(),
    ends_at: timestamp.nullable().describe("When the key was or will be revoked; null: no end is set"),
    rotated_to: identifier.nullable().describe("The key that replaces this one; null: none"),
    compromised_at: timestamp.nullable().describe("When the key was sent where others may have read it; null: never"),
    last_used_at: timestamp.nullable(),
    last_used_route: z.string().nullable(),
    last_used_address: z.string().nullable(),
  })
  .strict();
export type ShownKey = z.infer<typeof shownKey>;

const keyList = z.object({ data: z.array(shownKey) }).strict();

/** A key just made. */
const madeKey = z
  .object({
    id: identifier,
    key: z.string().describe("The key, shown only now: the service keeps only its hash"),
    replaces: identifier.nullable(),
    replaced_key_ends_at: timestamp.nullable(),
  })
  .strict();

/** Most hours for which both keys of a rotation work: 30 days. */
const MAX_OVERLAP_HOURS = 720;
const rotation = z
  .object({ overlap_hours: z.number().int().min(0).max(MAX_OVERLAP_HOURS).describe("Hours for which both keys work") })
  .strict();

const rateLimit = z.number().int().min(1).max(MAX_RATE_LIMIT);

/** The limits on keys that a partner's own people may make. */
export const keyAllowance = z
  .object({
    scopes: z.array(z.enum(scopeNames)).min(1),
    rate_limit: rateLimit.describe("Requests in any 60 s by all of the partner's own keys together"),
    days: z.number().int().min(1).max(MAX_OWN_KEY_DAYS).describe("The longest time from making a key to its expiry"),
    keys: z.number().int().min(1).max(MAX_OWN_KEYS).describe("Keys that may work at once"),
  })
  .strict();
export type KeyAllowance = z.infer<typeof keyAllowance>;

/** An allowance, and how much of it the keys that work now leave free. */
const shownAllowance = keyAllowance.extend({
  rate_limit_left: z.number().int().min(0),
  keys_left: z.number().int().min(0),
});
export type ShownAllowance = z.infer<typeof shownAllowance>;

const keyName = z.string().min(1).max(MAX_KEY_NAME).refine(isPlainName, issueText("plainName"));

const ownKeyRequest = z
  .object({
    scopes: z.array(z.enum(scopeNames)).min(1),
    name: keyName.nullable(),
    expires_at: givenInstant,
    rate_limit: rateLimit,
  })
  .strict();

const keyRequest = z
  .object({
    partner_id: identifier.nullable().describe("Null: an operator key, which takes no scopes"),
    scopes: z.array(z.enum(scopeNames)),
    name: keyName.nullable(),
    expires_at: givenInstant.nullable(),
    rate_limit: rateLimit.nullable(),
  })
  .strict()
  .refine(
    ({ partner_id, scopes }) => {
      const isOperatorKey = partner_id === null;
      return isOperatorKey ? scopes.length === 0 : scopes.length > 0;
    },
    { path: ["scopes"], message: "must name what a partner's key may do; an operator key takes none" },
  );

/** Returns the endpoints that change one key, for the pages of a partner or of the operator. */
function keyEndpoints<const Base extends `/console/v1/systems/:system_id${string}`, Shape extends z.ZodRawShape>(
  base: Base,
  pathParams: z.ZodObject<Shape, "strip">,
  audience: "partner" | "operator",
) {
  const withId = pathParams.extend({ id: identifierParam });
  return {
    revoke: {
      method: "POST",
      path: `${base}/keys/:id/revoke`,
      summary: "Revoke a key, on every process within a second",
      metadata: consoleNeeds(audience, "admin"),
      pathParams: withId,
      query: noQuery,
      body: z.object({}).strict(),
      responses: { 200: shownKey, ...consoleErrors, ...consoleBodyErrors },
    },
    rotate: {
      method: "POST",
      path: `${base}/keys/:id/rotate`,
      summary: "Make a key that replaces another; both work for a while",
      metadata: consoleNeeds(audience, "admin", { confirmed: true, conflicts: ["conflict"] }),
      pathParams: withId,
      query: noQuery,
      body: rotation,
      responses: { 200: madeKey, 409: errorBody, ...consoleErrors, ...consoleBodyErrors },
    },
  } as const;
}

/** Endpoints of a partner's keys. */
export const partnerKeyEndpoints = {
  list: {
    method: "GET",
    path: "/console/v1/systems/:system_id/partners/:partner_id/keys",
    summary: "The partner's keys, oldest first",
    metadata: consoleNeeds("partner"),
    pathParams: partnerPath,
    query: noQuery,
    responses: {
      200: keyList.extend({ allowance: shownAllowance.nullable().describe("Null: the operator makes all keys") }),
      ...consoleErrors,
    },
  },
  create: {
    method: "POST",
    path: "/console/v1/systems/:system_id/partners/:partner_id/keys",
    summary: "Make a key within what the operator allows",
    metadata: consoleNeeds("partner", "admin", { confirmed: true, conflicts: ["conflict"] }),
    pathParams: partnerPath,
    query: noQuery,
    body: ownKeyRequest,
    responses: { 200: madeKey, 409: errorBody, ...consoleErrors, ...consoleBodyErrors },
  },
  ...keyEndpoints("/console/v1/systems/:system_id/partners/:partner_id", partnerPath, "partner"),
} as const;

/** Endpoints with which the operator manages all keys of a system. */
export const systemKeyEndpoints = {
  list: {
    method: "GET",
    path: "/console/v1/systems/:system_id/keys",
    summary: "Every key, including operator keys, oldest first",
    metadata: consoleNeeds("operator"),
    pathParams: systemPath,
    query: z.object({ partner_id: z.string(givenOnce()).optional() }).strict(),
    responses: { 200: keyList, ...consoleErrors },
  },
  issue: {
    method: "POST",
    path: "/console/v1/systems/:system_id/keys",
    summary: "Make a key",
    metadata: consoleNeeds("operator", "admin", { confirmed: true }),
    pathParams: systemPath,
    query: noQuery,
    body: keyRequest,
    responses: { 200: madeKey, ...consoleErrors, ...consoleBodyErrors },
  },
  ...keyEndpoints("/console/v1/systems/:system_id", systemPath, "operator"),
} as const;
