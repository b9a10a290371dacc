import { serviceError } from "@bikeshare/rules";
import type { ActorContext } from "../../command-context.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import type { Queryable } from "../../storage/db/database.ts";
import type { Acknowledgement } from "./check-state.rules.ts";
import { type CheckResult, checkScopes, isCheckName } from "./check.ts";
import { deleteAcknowledgement, listAcknowledgements, updateAcknowledgement } from "./queries.ts";
import { recordedResults } from "./stored-checks.ts";
import { type SystemCheckContext, systemCheckFinders } from "./system-checks.ts";

/*
 * Stores and removes acknowledgements: somebody of the operator says that a finding of a check is known. The finding stays
 * visible, and no more mails about it are sent. An acknowledgement ends at its time (`until`) or, without a time, when the
 * finding is resolved. It also ends when the finding gets worse: a warning becomes a failure, or its count doubles.
 */

/**
 * Identifies an acknowledged finding: the check's name, what the check examined (`of`, such as a machine or a system; empty:
 * the deployment), and the subject of the finding.
 */
export type Acknowledged = Pick<Acknowledgement, "name" | "of" | "subject">;

/** Returns all stored acknowledgements, also those that have expired and are not deleted yet. */
export async function acknowledgements(db: Queryable): Promise<Acknowledgement[]> {
  return (await listAcknowledgements(db)).map(({ name, subject, severity, until, ...row }) => ({
    name,
    of: row.scope,
    subject,
    severity,
    until,
    at: row.acknowledged_at,
    foundAt: row.found_at,
    count: row.found_count,
  }));
}

/**
 * Acknowledges a check's finding. `severity` is the one that the actor has seen: a failure that was found since then counts
 * as worse than an acknowledged warning.
 * @param systemId the actor's system, whose audit log records it
 * @throws ServiceError when the check has no finding, or it belongs to another system
 */
export async function acknowledge(
  context: ActorContext & SystemCheckContext,
  systemId: string,
  { until, severity, ...what }: Acknowledged & Pick<Acknowledgement, "severity" | "until">,
): Promise<void> {
  const { name, of, subject } = what;
  const { count = null } = await requireFound(context, systemId, what);
  await context.db.transaction(async (tx) => {
    const acknowledged_at = new Date(context.clock());
    await updateAcknowledgement(tx, {
      name,
      scope: of,
      subject,
      severity,
      acknowledged_at,
      until,
      // Counts as found now: an acknowledged finding that no process finds for a day counts as resolved.
      found_at: acknowledged_at,
      found_count: count,
    });
    const detail = { of, subject, severity, until: until?.toISOString() ?? null };
    await insertActOf(context, tx, { systemId, action: "check.acknowledged", subject: name, detail });
  });
}

/**
 * Removes an acknowledgement, so that mails about the finding are sent again.
 * @returns whether there was one
 * @throws ServiceError when the operator has no such check, or it belongs to another system
 */
export async function unacknowledge(
  context: ActorContext,
  systemId: string,
  { name, of, subject }: Acknowledged,
): Promise<boolean> {
  requireAcknowledgeable(systemId, { name, of });
  return context.db.transaction(async (tx) => {
    const isChanged = await deleteAcknowledgement(tx, { name, scope: of, subject });
    if (isChanged)
      await insertActOf(context, tx, {
        systemId,
        action: "check.unacknowledged",
        subject: name,
        detail: { of, subject },
      });
    return isChanged;
  });
}

/**
 * Checks that the operator may acknowledge what a check finds. Findings about machines, processes and the database may be
 * acknowledged in any system.
 * @throws ServiceError for an unknown check, a partner's check, and a check of another system
 */
function requireAcknowledgeable(systemId: string, { name, of }: Pick<Acknowledged, "name" | "of">): void {
  const examined = isCheckName(name) ? checkScopes[name] : undefined;
  const isOperators = examined !== undefined && examined !== "partner" && examined !== "partner page";
  if (!isOperators || (examined === "system" && of !== systemId)) throw serviceError("not_found", "check");
}

/**
 * Returns a check's finding about a subject: the recorded one, or else what a system's own check finds now.
 * @throws ServiceError when there is no finding, or it belongs to another system
 */
async function requireFound(
  context: SystemCheckContext,
  systemId: string,
  { name, of, subject }: Acknowledged,
): Promise<CheckResult> {
  requireAcknowledgeable(systemId, { name, of });
  const isMeant = (result: CheckResult) => (result.subject ?? "") === subject && result.status !== "ok";
  const recorded = (await recordedResults(context.db, { name, of })).find(isMeant);
  if (recorded !== undefined) return recorded;
  // A system's own check may find something that no recorded run has found yet.
  const found = of === systemId && isSystemCheck(name) ? await systemCheckFinders[name](context, systemId) : [];
  const result = found.find(isMeant);
  if (result === undefined) throw serviceError("not_found", "check");
  return result;
}

function isSystemCheck(name: string): name is keyof typeof systemCheckFinders {
  return Object.hasOwn(systemCheckFinders, name);
}
