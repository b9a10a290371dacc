import type { Scope } from "../json-types.generated.ts";
import type { Answer } from "./answer.ts";
import type { Clock, FakePartner } from "./city.ts";
import {
  bearerKey,
  canonicalJson,
  forgottenBefore,
  invalidKey,
  KEY_RANDOM_LENGTH,
  keyOf,
  keyStatus,
  malformedKey,
  missingKey,
  scopeNames,
  serviceError,
} from "./rules.ts";

/* Who may call the fake (API keys), and which requests are repeats (the header `Idempotency-Key`). */

/** The properties of a new API key. Defaults: every scope, the fake's rate limit, the first partner, no expiry. */
export interface FakeKeyInput {
  readonly scopes?: readonly Scope[] | undefined;
  /** Requests in any 60 s. */
  readonly rateLimit?: number | undefined;
  readonly partner?: FakePartner | undefined;
  /** RFC 3339. */
  readonly expiresAt?: string | undefined;
}

/** A key that the fake has issued. */
export interface FakeKey {
  readonly id: string;
  readonly text: string;
  readonly partner: FakePartner;
  readonly scopes: readonly Scope[];
  readonly rateLimit: number;
  readonly expires_at: Date | null;
  readonly revoked_at: Date | null;
}

/** The keys of a fake. */
export type Keys = ReturnType<typeof createKeys>;

/** Creates the keys of a fake. @param defaultRateLimit the rate limit of keys that are issued without one */
export function createKeys(now: Clock, firstPartner: FakePartner, defaultRateLimit: number) {
  const keys = new Map<string, FakeKey>();
  return {
    issue({ scopes = scopeNames, rateLimit = defaultRateLimit, partner = firstPartner, expiresAt }: FakeKeyInput) {
      const number = String(keys.size + 1);
      const text = keyOf("test", `Fake${number.padStart(KEY_RANDOM_LENGTH - "Fake".length, "0")}`);
      keys.set(text, {
        id: `key_${number.padStart(6, "0")}`,
        text,
        partner,
        scopes: scopeNames.filter((name) => scopes.includes(name)),
        rateLimit,
        expires_at: expiresAt === undefined ? null : new Date(expiresAt),
        revoked_at: null,
      });
      return text;
    },
    /** @throws Error for a key that was not issued here */
    revoke(text: string) {
      const key = keys.get(text);
      if (key === undefined) throw new Error("this key was not issued by this fake");
      keys.set(text, { ...key, revoked_at: new Date(now()) });
    },
    /** Returns the key in an `Authorization` header. @throws ServiceError `unauthorized`, whose message says why */
    authenticate(header: string | null): FakeKey {
      if (header === null) throw missingKey();
      const key = keys.get(bearerKey(header) ?? "");
      if (key === undefined) throw malformedKey(header) ?? invalidKey("unknownKey");
      const status = keyStatus(key, now());
      if (status !== "active") throw invalidKey("inactiveKey", { id: key.id, last4: key.text.slice(-4), status });
      return key;
    },
    /** Tells whether a text contains an issued key. */
    isIn: (text: string) => [...keys.keys()].some((key) => text.includes(key)),
  };
}

/** Carries out a request with an `Idempotency-Key` only once. */
export type Idempotency = ReturnType<typeof createIdempotency>;

export function createIdempotency(now: Clock) {
  const kept = new Map<string, { readonly at: number; readonly body: string; readonly answer: Answer }>();
  return {
    /**
     * Does `work`, or returns the answer of an earlier call with the same key. If `work` throws, nothing is stored.
     *
     * @param caller the partner and the path of the request, for which the key is valid
     * @param key the header `Idempotency-Key`; null when there is none
     * @param body the JSON value that was sent
     * @throws ServiceError `idempotency_key_reused` for a key that was used with another body
     */
    once(caller: string, key: string | null, body: unknown, work: () => Answer): Answer {
      if (key === null) return work();
      const name = `${caller}\n${key}`;
      const text = canonicalJson(body);
      const found = kept.get(name);
      if (found !== undefined && found.at > forgottenBefore(now()).getTime()) {
        if (found.body !== text) throw serviceError("idempotency_key_reused");
        return { ...found.answer, headers: { ...found.answer.headers, "idempotent-replayed": "true" } };
      }
      const answer = work();
      kept.set(name, { at: now(), body: text, answer });
      return answer;
    },
  };
}
