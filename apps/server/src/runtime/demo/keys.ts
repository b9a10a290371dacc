import { scopeNames } from "@bikeshare/contract";
import type { KeyKind } from "@bikeshare/rules";
import type { ActorContext } from "../../command-context.ts";
import { issueKey, keyFor, removeKey } from "../../partners/keys/service.ts";
import { createPartner, type PartnerRow, partnersOf } from "../../partners/service.ts";

/** The owners and purposes of the demo's keys. */
export interface DemoKeyContext extends ActorContext {
  readonly systemId: string;
  readonly keyKind: KeyKind;
}

const DEMO_KEY_NAME = "made by start";

/** Creates the demo's partner, unless it exists, and a key with every scope; the key is shown once. */
export async function issueDemoKey(
  context: DemoKeyContext,
): Promise<{ readonly key: string; readonly partnerId: string }> {
  const { systemId, keyKind: kind } = context;
  const { id: partnerId } = await partnerNamed(context, "Demo partner");
  const { key } = await issueKey(context, { systemId, kind, partnerId, scopes: scopeNames, name: DEMO_KEY_NAME });
  return { key, partnerId };
}

/**
 * Returns the partner of a key that `issueDemoKey` issued for this system: then its data are the demo's. Otherwise
 * undefined.
 */
export async function demoPartner(
  context: Pick<DemoKeyContext, "db" | "systemId">,
  key: string,
): Promise<string | undefined> {
  const row = await keyFor(context, key);
  const isDemos = row?.system_id === context.systemId && row.name === DEMO_KEY_NAME;
  return isDemos ? (row.partner_id ?? undefined) : undefined;
}

/** The keys with which a simulation calls a service of this machine. */
export interface SimulatorKeys {
  readonly operatorKey: string;
  /** Reads stations, bikes and rides. */
  readonly partnerKey: string;
  /** Removes both, also from `keys list`. */
  remove(): Promise<void>;
}

/** After it the keys of a run that was killed expire: no simulation runs longer. */
const KEY_LIFETIME_MS = 7 * 24 * 3_600_000;
/** Requests a minute: the key reads the whole city at once, page after page. */
const READER_RATE_LIMIT = 6000;

/** Issues the keys of one run. */
export async function createSimulatorKeys(given: DemoKeyContext): Promise<SimulatorKeys> {
  const context = { ...given, actor: "simulator" };
  const { systemId, clock, keyKind: kind } = context;
  const { id: partnerId } = await partnerNamed(context, "Simulator");
  const common = { systemId, name: "made by the simulator", expiresAt: new Date(clock() + KEY_LIFETIME_MS) };
  const operator = await issueKey(context, { ...common, kind: "operator", partnerId: null, scopes: [] });
  const scopes = ["stations:read", "bikes:read", "rides:read"] as const;
  const reader = await issueKey(context, { ...common, kind, partnerId, scopes, rateLimit: READER_RATE_LIMIT });
  return {
    operatorKey: operator.key,
    partnerKey: reader.key,
    remove: async () => {
      for (const { id } of [operator, reader]) await removeKey(context, systemId, id);
    },
  };
}

/** Returns the partner of a name; made where there is none. */
async function partnerNamed(context: DemoKeyContext, name: string): Promise<PartnerRow> {
  const partners = await partnersOf(context, context.systemId);
  const known = partners.find((partner) => partner.name === name && partner.removed_at === null);
  return known ?? createPartner(context, context.systemId, name);
}
