import type { Database } from "../db/database.ts";
import type { Ids } from "../ids.ts";
import type { KeyKind } from "../keys/key.ts";
import { issueKey, removeKey } from "../keys/service.ts";
import { createPartner, partnersOf } from "../partners/service.ts";

export interface AccessOptions {
  readonly db: Database;
  readonly systemId: string;
  readonly clock: () => number;
  readonly ids: Ids;
  readonly keyKind: KeyKind;
}

/** The keys with which a simulation works on a service of this machine. */
export interface Access {
  readonly operatorKey: string;
  /** Reads stations, bikes and rides. */
  readonly partnerKey: string;
  /** Ends both, and leaves nothing of them in `keys list`. */
  remove(): Promise<void>;
}

const PARTNER = "Simulator";
/** Milliseconds after which the keys of a run that was killed end by themselves: no simulation runs longer. */
const LIFETIME = 7 * 24 * 3_600_000;
/** The partner's key reads the city once, page after page. */
const READER_RATE = 6000;

/** Makes the keys of one run. */
export async function makeAccess({ db, systemId, clock, ids, keyKind }: AccessOptions): Promise<Access> {
  const context = { db, clock, ids, actor: "simulator" };
  const partners = await partnersOf(context, systemId);
  const partner = partners.find(({ name }) => name === PARTNER) ?? (await createPartner(context, systemId, PARTNER));
  const common = { systemId, name: "made by the simulator", expiresAt: new Date(clock() + LIFETIME) };
  const operator = await issueKey(context, { ...common, kind: "operator", partnerId: null, scopes: [] });
  const reader = await issueKey(context, {
    ...common,
    kind: keyKind,
    partnerId: partner.id,
    scopes: ["stations:read", "bikes:read", "rides:read"],
    rateLimit: READER_RATE,
  });
  return {
    operatorKey: operator.key,
    partnerKey: reader.key,
    remove: async () => {
      await removeKey(context, systemId, operator.id);
      await removeKey(context, systemId, reader.id);
    },
  };
}
