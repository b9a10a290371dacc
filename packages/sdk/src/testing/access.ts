import type { Scope } from "../wire.generated.ts";
import type { Clock, FakePartner } from "./city.ts";
import { type Answer, ServiceError, serviceError } from "./errors.ts";
import {
  bearerIssue,
  bearerKey,
  errorMessage,
  IDEMPOTENCY_KEY_HOURS,
  isWellFormedKey,
  KEY_RANDOM_LENGTH,
  keyOf,
  keyStatus,
  type MessageArguments,
  scopeNames,
} from "./rules.ts";

/** What a key is made of. What is left out: every scope, the fake's own limit, the first partner, no end. */
export interface FakeKeyInput {
  readonly scopes?: readonly Scope[] | undefined;
  /** Requests in any 60 s. */
  readonly rateLimit?: number | undefined;
  readonly partner?: FakePartner | undefined;
  /** RFC 3339. */
  readonly expiresAt?: string | undefined;
}

/** A key as the fake knows it. */
export interface FakeKey {
  readonly id: string;
  readonly text: string;
  readonly partner: FakePartner;
  readonly scopes: readonly Scope[];
  readonly rateLimit: number;
  readonly expires_at: Date | null;
  revoked_at: Date | null;
}

/** The keys of a fake. */
export interface Keys {
  issue(input: FakeKeyInput): FakeKey;
  /** @throws Error for a key that was not issued here */
  revoke(text: string): void;
  /** The key that an `Authorization` header brings. @throws ServiceError `unauthorized`, whose message says why */
  authenticate(header: string | null): FakeKey;
  /** Whether a text contains a key. */
  isIn(text: string): boolean;
}

/** @param rateLimit of keys without a number of their own */
export function createKeys(now: Clock, partner: FakePartner, rateLimit: number): Keys {
  const keys = new Map<string, FakeKey>();
  return {
    issue(input) {
      const number = String(keys.size + 1);
      const text = keyOf("test", `Fake${number.padStart(KEY_RANDOM_LENGTH - "Fake".length, "0")}`);
      const key: FakeKey = {
        id: `key_${number.padStart(6, "0")}`,
        text,
        partner: input.partner ?? partner,
        scopes: scopeNames.filter((name) => (input.scopes ?? scopeNames).includes(name)),
        rateLimit: input.rateLimit ?? rateLimit,
        expires_at: input.expiresAt === undefined ? null : new Date(input.expiresAt),
        revoked_at: null,
      };
      keys.set(text, key);
      return key;
    },
    revoke(text) {
      const key = keys.get(text);
      if (key === undefined) throw new Error("this key was not issued by this fake");
      key.revoked_at = new Date(now());
    },
    authenticate(header) {
      if (header === null) throw unauthorized("Bearer", "missing");
      const presented = bearerKey(header);
      if (presented === undefined) throw invalidToken(bearerIssue(header));
      const key = keys.get(presented);
      if (key === undefined) throw invalidToken(isWellFormedKey(presented) ? "unknownKey" : "malformedKey");
      const status = keyStatus(key, now());
      if (status !== "active") throw invalidToken("inactiveKey", { id: key.id, last4: key.text.slice(-4), status });
      return key;
    },
    isIn: (text) => text.includes("bss_") && [...keys.keys()].some((key) => text.includes(key)),
  };
}

function invalidToken(...message: MessageArguments<"unauthorized">): ServiceError {
  return unauthorized(`Bearer error="invalid_token"`, ...message);
}

function unauthorized(challenge: string, ...message: MessageArguments<"unauthorized">): ServiceError {
  const text = errorMessage("unauthorized", ...message);
  return new ServiceError("unauthorized", text, { "www-authenticate": challenge });
}

/** Does what may be asked for several times once. */
export interface Idempotency {
  /**
   * Does `work`, or gives the answer that it had before under the same key. What `work` throws counts as never asked.
   *
   * @param caller whose key it is, and what was called
   * @param key the header `Idempotency-Key`; null when there is none
   * @param body the JSON value that was sent
   * @throws ServiceError `idempotency_key_reused` for a key that was used with another body
   */
  once(caller: string, key: string | null, body: unknown, work: () => Answer): Answer;
}

export function createIdempotency(now: Clock): Idempotency {
  const kept = new Map<string, { readonly at: number; readonly body: string; readonly answer: Answer }>();
  return {
    once(caller, key, body, work) {
      if (key === null) return work();
      const name = `${caller}\n${key}`;
      const text = canonicalJson(body);
      const found = kept.get(name);
      if (found !== undefined && found.at > now() - IDEMPOTENCY_KEY_HOURS * 3_600_000) {
        if (found.body !== text) throw serviceError("idempotency_key_reused");
        return { ...found.answer, headers: { ...found.answer.headers, "idempotent-replayed": "true" } };
      }
      const answer = work();
      kept.set(name, { at: now(), body: text, answer });
      return answer;
    },
  };
}

/** A JSON value as the one text that all its writings have in common: members by name. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
