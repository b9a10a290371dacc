import { commandError } from "../../command-errors.ts";
import type { Transaction } from "../../storage/db/database.ts";
import { holdPartner } from "../service.ts";
import { type BoundedKey, excessOf, ownKeysIn } from "./allowance.rules.ts";
import { deleteEndedOwnKeys, type KeyRow, listKeys } from "./queries.ts";

const DAY_MS = 86_400_000;
/** Too low: a partner that tries things out must wait. Too high: the table grows with whoever makes and revokes keys. */
const MAX_MADE_A_DAY = 100;
/** For how many days a key of a partner's own people is listed after its end. */
const ENDED_DAYS = 30;

/**
 * Holds a partner until the transaction ends, and checks that its own people may make a key now. Whoever makes another key of
 * the partner, lowers the allowance, or suspends or removes the partner waits meanwhile.
 * @throws ServiceError that says which bound of the allowance the key exceeds
 */
export async function requireAllowed(
  tx: Transaction,
  key: BoundedKey & Pick<KeyRow, "system_id" | "partner_id">,
): Promise<void> {
  const { system_id: systemId, partner_id, created_at: at } = key;
  const partnerId = partner_id ?? "";
  const partner = await holdPartner(tx, systemId, partnerId);
  if (partner === undefined) throw commandError("not_found", "partner", { id: partnerId });
  if (partner.suspended_at !== null) throw commandError("conflict", "partnerSuspended", { partnerId });
  const allowance = partner.key_allowance;
  if (allowance === null) throw commandError("conflict", "keyAllowance", { partnerId });
  const now = at.getTime();
  await deleteEndedOwnKeys(tx, systemId, partnerId, new Date(now - ENDED_DAYS * DAY_MS));
  const all = await listKeys(tx, systemId, partnerId);
  const today = all.filter(({ made_by_partner: isOwn, created_at }) => isOwn && created_at.getTime() > now - DAY_MS);
  if (today.length >= MAX_MADE_A_DAY) throw commandError("conflict", "keysMadeToday", { count: today.length });
  const own = ownKeysIn(all, now);
  const excess = excessOf(allowance, key, own);
  switch (excess?.bound) {
    case undefined:
      return;
    case "scopes":
      throw commandError("conflict", "keyAllowanceScopes", { scope: excess.scope });
    case "lifetime":
      throw commandError("conflict", "keyAllowanceLifetime", {
        days: allowance.days,
        expiry: key.expires_at?.toISOString() ?? "never",
      });
    case "keys":
      throw commandError("conflict", "keyAllowanceCount", { count: own.length, limit: allowance.keys });
    case "rate":
      throw commandError("conflict", "keyAllowanceRate", {
        limit: allowance.rate_limit,
        left: excess.left,
        asked: key.rate_limit ?? "no limit",
      });
  }
}
