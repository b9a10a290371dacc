import type { Database } from "../../db/database.ts";
import type { SystemBacklog } from "../../metrics/backlog-metrics.ts";
import { dayOf, oldestKept } from "../../partitions/partition.ts";
import { countBacklog, listFailingEndpoints } from "../queue/backlog-queries.ts";
import { listLargestLogs } from "../queue/log-size-queries.ts";
import { SILENCE_MS } from "../rules/endpoint-health.ts";

/** Failing endpoints that are shown one by one. More become more time series than anybody reads. */
const SHOWN_FAILING = 20;

/** Partners whose log is shown one by one: the largest. */
const SHOWN_LOGS = 20;

/** What waits in a system, and how its endpoints do: counted now. */
export async function readBacklog(
  { db, clock }: { readonly db: Database; readonly clock: () => number },
  systemId: string,
): Promise<SystemBacklog> {
  const now = clock();
  const row = await countBacklog(db, systemId, new Date(now));
  const failing = await listFailingEndpoints(db, systemId, { since: new Date(now - SILENCE_MS), limit: SHOWN_FAILING });
  const logs = await listLargestLogs(db, systemId, { oldest: oldestKept(dayOf(now)), limit: SHOWN_LOGS });
  return {
    systemId,
    pending: row.pending,
    oldestDueMs: row.oldest_due_at === null ? null : now - row.oldest_due_at.getTime(),
    held: row.held,
    waitingMails: row.waiting_mails,
    workers: row.workers,
    endpoints: { active: row.active, probing: row.probing, paused: row.paused },
    logs: logs.map(({ partner_id: partnerId, bytes }) => ({ partnerId, bytes })),
    failing: failing.map(({ partner_id: partnerId, failing_since: since }) => ({
      partnerId,
      failingMs: now - since.getTime(),
    })),
  };
}
