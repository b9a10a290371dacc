import type { KeyKind } from "@bikeshare/rules";
import type { Database } from "../db/database.ts";
import type { Ids } from "../ids.ts";
import { issueKey, removeKey } from "../keys/service.ts";
import { createPartner, partnersOf } from "../partners/service.ts";

export interface SimulatorKeysOptions {
  readonly db: Database;
  readonly systemId: string;
  readonly clock: () => number;
  readonly ids: Ids;
  readonly keyKind: KeyKind;
}

/** The keys with which a simulation calls a service of this machine. */
export interface SimulatorKeys {
  readonly operatorKey: string;
  /** Reads stations, bikes and rides. */
  readonly partnerKey: string;
  /** Removes both, also from `keys list`. */
  remove(): Promise<void>;
}

const PARTNER_NAME = "Simulator";
/** After it the keys of a run that was killed expire: no simulation runs longer. */
const KEY_LIFETIME_MS = 7 * 24 * 3_600_000;
/** Requests a minute: the key reads the whole city at once, page after page. */
const READER_RATE_LIMIT = 6000;

/** Issues the keys of one run. */
export async function createSimulatorKeys({
  db,
  systemId,
  clock,
  ids,
  keyKind,
}: SimulatorKeysOptions): Promise<SimulatorKeys> {
  const context = { db, clock, ids, actor: "simulator" };
  const partners = await partnersOf(context, systemId);
  const partner =
    partners.find(({ name }) => name === PARTNER_NAME) ?? (await createPartner(context, systemId, PARTNER_NAME));
  const common = { systemId, name: "made by the simulator", expiresAt: new Date(clock() + KEY_LIFETIME_MS) };
  const operator = await issueKey(context, { ...common, kind: "operator", partnerId: null, scopes: [] });
  const reader = await issueKey(context, {
    ...common,
    kind: keyKind,
    partnerId: partner.id,
    scopes: ["stations:read", "bikes:read", "rides:read"],
    rateLimit: READER_RATE_LIMIT,
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
