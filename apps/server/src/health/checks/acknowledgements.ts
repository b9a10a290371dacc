import { serviceError } from "@bikeshare/rules";
import type { ActorContext } from "../../command-context.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { deleteAcknowledgement, listAcknowledgements, updateAcknowledgement } from "./acknowledgement-queries.ts";
import type { Acknowledgement } from "./acknowledgement.rules.ts";
import { checkScopes, isCheckName } from "./check.ts";
import { activeChecks } from "./stored-checks.ts";

/** What of a check is acknowledged. */
export type Acknowledged = Pick<Acknowledgement, "name" | "of" | "subject">;

/** All acknowledgements, which may be over. */
export async function acknowledgements(db: Queryable): Promise<Acknowledgement[]> {
  return (await listAcknowledgements(db)).map(({ scope: of, acknowledged_at: at, found_at: _foundAt, ...row }) => ({
    ...row,
    of,
    at,
  }));
}

/**
 * Acknowledges what a check has found: it stays visible, and no mail is sent of it until it is over, gets worse, or until an
 * instant.
 * @param systemId of whoever does; the audit log of that system has it
 * @throws ServiceError when no such check has found anything, or it is another system's
 */
export async function acknowledge(
  context: ActorContext,
  systemId: string,
  { until, severity, ...what }: Acknowledged & Pick<Acknowledgement, "severity" | "until">,
): Promise<void> {
  const { name, of, subject } = what;
  await requireFound(context.db, systemId, what);
  await context.db.transaction(async (tx) => {
    const acknowledged_at = new Date(context.clock());
    await updateAcknowledgement(tx, {
      name,
      scope: of,
      subject,
      severity,
      acknowledged_at,
      until,
      found_at: acknowledged_at,
    });
    const detail = { of, subject, severity, until: until?.toISOString() ?? null };
    await insertActOf(context, tx, { systemId, action: "check.acknowledged", subject: name, detail });
  });
}

/**
 * Takes an acknowledgement back: what was found counts and is mailed again.
 * @returns whether there was one
 */
export async function unacknowledge(
  context: ActorContext,
  systemId: string,
  { name, of, subject }: Acknowledged,
): Promise<boolean> {
  requireOfSystem(systemId, { name, of });
  return context.db.transaction(async (tx) => {
    const isChanged = await deleteAcknowledgement(tx, { name, scope: of, subject });
    if (isChanged)
      await insertActOf(context, tx, {
        ...{ systemId, action: "check.unacknowledged", subject: name },
        detail: { of, subject },
      });
    return isChanged;
  });
}

function requireOfSystem(systemId: string, { name, of }: Pick<Acknowledged, "name" | "of">): void {
  const scope = isCheckName(name) ? checkScopes[name] : undefined;
  const isKnown = scope !== undefined && scope !== "partner" && scope !== "partner page";
  if (!isKnown || (scope === "system" && of !== systemId)) throw serviceError("not_found", "check");
}

/** A system's own checks are looked at by the page itself; what others find is in the database. */
async function requireFound(db: Queryable, systemId: string, { name, of }: Acknowledged): Promise<void> {
  requireOfSystem(systemId, { name, of });
  if (of === systemId) return;
  const isFound = (await activeChecks(db)).some((state) => state.name === name && state.of === of);
  if (!isFound) throw serviceError("not_found", "check");
}
