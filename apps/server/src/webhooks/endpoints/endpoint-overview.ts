import { EVENT_RETENTION_DAYS } from "@bikeshare/contract";
import type { Database } from "../../db/database.ts";
import { countWorkers } from "../queue/worker-queries.ts";
import { type OverviewRow, selectOverview } from "./endpoint-overview-queries.ts";
import { describeStatus, isRemoved } from "./endpoint.ts";

/** A partner's endpoint and how it does, in a list of all. */
interface EndpointSummary extends Omit<OverviewRow, "url"> {
  /** Null: it was removed. */
  readonly url: string | null;
  /** The status in words. */
  readonly status_text: string;
}

export interface EndpointOverview {
  /** By the partner's name. Removed ones as long as their log is kept. */
  readonly endpoints: readonly EndpointSummary[];
  /** Processes that are sending the system's webhooks. */
  readonly workers: number;
}

const LOG_KEPT = EVENT_RETENTION_DAYS * 86_400_000;

/** Every partner's endpoint, with what waits there. */
export async function overlookEndpoints(
  { db, clock }: { readonly db: Database; readonly clock: () => number },
  systemId: string,
): Promise<EndpointOverview> {
  const rows = await selectOverview(db, systemId, new Date(clock() - LOG_KEPT));
  const endpoints = rows.map((row) => ({
    ...row,
    url: isRemoved(row) ? null : row.url,
    status_text: describeStatus(row),
  }));
  return { endpoints, workers: await countWorkers(db, systemId) };
}
