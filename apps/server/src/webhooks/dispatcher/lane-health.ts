import type { HealthRow } from "../queue/lane-queries.ts";
import { type EndpointHealth, HEALTHY } from "../rules/endpoint-health.ts";

/** An endpoint's health as a lane's row has it. */
export function healthOf(row: HealthRow): EndpointHealth {
  if (row.failing_since === null) return HEALTHY;
  return {
    failingSince: row.failing_since.getTime(),
    lastFailedAt: row.last_failed_at?.getTime() ?? null,
    failures: row.failures,
    failedDeliveries: row.failed_deliveries,
    goneAnswers: row.gone_answers,
    goneSince: row.gone_since?.getTime() ?? null,
    warned: row.warned,
  };
}

/** The same for writing it. */
export function healthRowOf(health: EndpointHealth): HealthRow {
  return {
    failing_since: dateOf(health.failingSince),
    last_failed_at: dateOf(health.lastFailedAt),
    failures: health.failures,
    failed_deliveries: health.failedDeliveries,
    gone_answers: health.goneAnswers,
    gone_since: dateOf(health.goneSince),
    warned: health.warned,
  };
}

function dateOf(milliseconds: number | null): Date | null {
  return milliseconds === null ? null : new Date(milliseconds);
}
