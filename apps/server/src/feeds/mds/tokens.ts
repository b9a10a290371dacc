import { hkdfSync } from "node:crypto";
import { MDS_SCOPE } from "@bikeshare/contract/mds";
import { isWellFormedKey, keyStatus } from "@bikeshare/rules";
import { errors, jwtVerify, SignJWT } from "jose";
import type { AccessTokens } from "../../http/authenticate.ts";
import { keyFor } from "../../partners/keys/look-ups.ts";
import { type KeyRow, keyWithId } from "../../partners/keys/service.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { type KeySource, type NumberedKey, prepareKeys } from "../../storage/secrets/encryption.ts";
import { findAgency } from "./queries.ts";

/** Seconds for which a token works. */
export const TOKEN_SECONDS = 15 * 60;

const ALGORITHM = "HS256";

/** The dependencies of tokens. */
interface TokensOptions {
  readonly db: Queryable;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** The service's encryption keys, from which the keys that sign tokens are derived. */
  readonly keys: KeySource<NumberedKey>;
}

/** Issues and checks the access tokens of agencies. A token stands for an API key, and is rejected as soon as the key is. */
export interface AgencyTokens extends AccessTokens {
  /** Returns a token for an agency's credentials; undefined when these are wrong, or the key or the agency is not active. */
  issue(clientId: string, secret: string): Promise<string | undefined>;
}

/** Creates the issuer of tokens, which are JSON Web Tokens. */
export function createAgencyTokens({ db, clock, keys }: TokensOptions): AgencyTokens {
  // The signing keys by the ids of the encryption keys that they are derived from. A token names its key by that id.
  const prepared = prepareKeys(keys, (all) => {
    const derived = all.map(({ id, key }) => [id, Buffer.from(hkdfSync("sha256", key, "", "mds token", 32))] as const);
    return new Map(derived.map(([id, key]) => [String(id), key]));
  });
  return {
    async issue(clientId, secret) {
      if (!isWellFormedKey(secret)) return undefined;
      const key = await keyFor({ db }, secret);
      if (key === undefined || !isAgencyKey(key) || key.partner_id !== clientId) return undefined;
      const now = clock();
      if (keyStatus(key, now) !== "active" || key.partner_suspended_at !== null) return undefined;
      const agency = await findAgency(db, key.system_id, clientId);
      // The first key signs. The others only verify tokens.
      const [current] = prepared();
      if (agency === undefined || current === undefined) return undefined;
      const [kid, signing] = current;
      const seconds = Math.floor(now / 1000);
      return new SignJWT({ system: key.system_id, provider_id: agency.provider_id, agency_id: agency.agency_id })
        .setProtectedHeader({ alg: ALGORITHM, typ: "JWT", kid })
        .setSubject(key.id)
        .setIssuedAt(seconds)
        .setExpirationTime(seconds + TOKEN_SECONDS)
        .sign(signing);
    },
    // Returns the API key whose id is the token's subject. The caller checks whether the key is active.
    async keyOf(token) {
      const payload = await verify(token, prepared(), clock());
      if (typeof payload?.sub !== "string" || typeof payload["system"] !== "string") return undefined;
      const key = await keyWithId({ db }, payload["system"], payload.sub);
      return key !== undefined && isAgencyKey(key) ? key : undefined;
    },
  };
}

/** Tells whether a key is that of an agency. */
function isAgencyKey({ scopes }: KeyRow): boolean {
  return scopes.includes(MDS_SCOPE);
}

/** Returns the content of a token; undefined when it was not signed by one of `keys`, or has expired. */
async function verify(token: string, keys: ReadonlyMap<string, Uint8Array>, now: number) {
  try {
    const keyNamed = ({ kid }: { kid?: string }) => {
      const key = keys.get(kid ?? "");
      if (key === undefined) throw new errors.JWSSignatureVerificationFailed();
      return key;
    };
    const options = { algorithms: [ALGORITHM], requiredClaims: ["exp"], currentDate: new Date(now) };
    return (await jwtVerify(token, keyNamed, options)).payload;
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}
