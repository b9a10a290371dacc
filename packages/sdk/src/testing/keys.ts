import type { Scope } from "../wire.generated.ts";
import { Refused } from "./answer.ts";
import { type Clock, instant } from "./clock.ts";
import { scopeNames } from "./contract.generated.ts";

/** Who a key belongs to. */
export interface FakePartner {
  readonly id: string;
  readonly name: string;
}

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
  /** As on the wire. */
  readonly expiresAt: string | null;
  isRevoked: boolean;
}

/** The keys of a fake. */
export interface Keys {
  issue(input: FakeKeyInput): FakeKey;
  /** @throws Error for a key that was not issued here */
  revoke(text: string): void;
  /**
   * The key that an `Authorization` header brings.
   *
   * @throws Refused `unauthorized`, whose message says why
   */
  authenticate(header: string | null): FakeKey;
  /** Whether a key stands in a text. */
  isIn(text: string): boolean;
}

/** Characters of a real key behind its prefix. */
const KEY_LENGTH = 40;

/** @param rateLimit of keys without a number of their own */
export function createKeys(now: Clock, partner: FakePartner, rateLimit: number): Keys {
  const keys = new Map<string, FakeKey>();
  return {
    issue(input) {
      const number = String(keys.size + 1);
      const text = `bss_test_Fake${number.padStart(KEY_LENGTH - "Fake".length, "0")}`;
      const { expiresAt } = input;
      const key: FakeKey = {
        id: `key_${number.padStart(6, "0")}`,
        text,
        partner: input.partner ?? partner,
        scopes: scopeNames.filter((name) => (input.scopes ?? scopeNames).includes(name)),
        rateLimit: input.rateLimit ?? rateLimit,
        expiresAt: expiresAt === undefined ? null : instant(Date.parse(expiresAt)),
        isRevoked: false,
      };
      keys.set(text, key);
      return key;
    },
    revoke(text) {
      const key = keys.get(text);
      if (key === undefined) throw new Error("this key was not issued by this fake");
      key.isRevoked = true;
    },
    authenticate(header) {
      if (header === null) {
        throw new Refused("unauthorized", "No credentials were provided. Send Authorization: Bearer <API_KEY>.", {
          "www-authenticate": "Bearer",
        });
      }
      const presented = /^bearer ([\x21-\x7e]+)$/i.exec(header)?.[1];
      if (presented === undefined)
        throw refuse("The Authorization header must be: the word Bearer, one space, the key.");
      const key = keys.get(presented);
      if (key === undefined) throw refuse("The key is unknown.");
      const isExpired = key.expiresAt !== null && Date.parse(key.expiresAt) <= now();
      if (!key.isRevoked && !isExpired) return key;
      const fault = key.isRevoked ? "revoked" : "expired";
      throw refuse(`The key ${key.id} (…${key.text.slice(-4)}) is ${fault}. Ask the operator for a new one.`);
    },
    isIn: (text) => text.includes("bss_") && [...keys.keys()].some((key) => text.includes(key)),
  };
}

function refuse(message: string): Refused {
  return new Refused("unauthorized", message, { "www-authenticate": `Bearer error="invalid_token"` });
}
