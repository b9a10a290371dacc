import { deliveryNames, scopeOfEvent } from "@bikeshare/contract";
import { keyStatus } from "@bikeshare/rules";
import type { Queryable } from "../../db/database.ts";
import { keysOf } from "../../keys/service.ts";
import type { PartnerScope } from "./endpoint-context.ts";

/**
 * Those of some events that tell of what no key of the partner may read. They are sent all the same: to choose an
 * endpoint's events is the operator's leave to get them, and a key that expires must not cost a delivery.
 */
export async function unreadableEvents(
  { db, clock }: { readonly db: Queryable; readonly clock: () => number },
  { systemId, partnerId }: PartnerScope,
  events: readonly string[],
): Promise<string[]> {
  const now = clock();
  const keys = await keysOf({ db }, systemId, partnerId);
  const scopes = new Set(keys.filter((key) => keyStatus(key, now) === "active").flatMap((key) => key.scopes));
  return deliveryNames.filter((name) => events.includes(name) && !scopes.has(scopeOfEvent(name)));
}
