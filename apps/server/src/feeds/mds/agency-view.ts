import { type MultiPolygon, VEHICLE_EVENT_DAYS } from "@bikeshare/contract";
import type { ShownAgency } from "@bikeshare/contract/console";
import { ServiceError, serviceError } from "@bikeshare/rules";
import { timeZoneOfSystem } from "../../city/descriptions/service.ts";
import type { ActorContext } from "../../command-context.ts";
import { insertActOf, listActs } from "../../partners/audit/queries.ts";
import type { Queryable } from "../../storage/db/database.ts";
import type { ListReader } from "../../storage/lists/read-context.ts";
import {
  type AgencySettings,
  countVehicleStates,
  findAgencySettings,
  listMonths,
  type StateRow,
} from "./agency-queries.ts";
import { HOUR_MS, isSettled, SETTLE_MS } from "./hours.rules.ts";
import { everywhere, jurisdictionOf } from "./jurisdiction.rules.ts";
import { findAgency } from "./queries.ts";
import { reportText } from "./report.rules.ts";
import { reportOf } from "./reports.ts";
import { answerRequirements, ownRequirements, readRequirements } from "./requirements.rules.ts";
import { agencyOf, type AgencyReads } from "./service.ts";

/** The dependencies of the view. */
interface ViewContext {
  readonly db: Queryable;
  readonly clock: () => number;
  readonly baseUrl: () => string;
  /** Whether this service serves MDS. */
  readonly mds?: boolean | undefined;
}

// How many of the latest hours, months and reads the console shows.
const SHOWN_HOURS = 24;
const SHOWN_MONTHS = 13;
const SHOWN_READS = 10;
/** Audit entries that are searched for the agency's reads. An agency that reads trips and events makes two each hour. */
const SEARCHED_ACTS = 300;

/**
 * Returns what the console shows of an agency: what it can read by MDS, and what it has read. Undefined when the partner is
 * not an agency.
 */
export async function viewAgency(
  { db, clock, baseUrl, mds = false }: ViewContext,
  systemId: string,
  partnerId: string,
): Promise<ShownAgency | undefined> {
  const agency = await findAgency(db, systemId, partnerId);
  const settings = await findAgencySettings(db, systemId, partnerId);
  if (agency === undefined || settings === undefined) return undefined;
  const now = clock();
  const since = agency.logged_since;
  const timeZone = agency.time_zone ?? (await timeZoneOfSystem(db, systemId));
  const file = settings.requirements === null ? ownRequirements() : readRequirements(settings.requirements);
  const reads = await readsOf(db, systemId, partnerId);
  const tripsSince = agency.trips_since ?? since;
  const months = await listMonths(db, { since: tripsSince, until: new Date(now), timeZone, limit: SHOWN_MONTHS });
  return {
    agency_id: agency.agency_id,
    provider_id: agency.provider_id,
    is_served: mds,
    url: `${baseUrl()}/mds`,
    time_zone: timeZone,
    has_own_time_zone: agency.time_zone !== null,
    has_boundary: settings.boundary !== null,
    logged_since: since.toISOString(),
    trips_since: tripsSince.toISOString(),
    kept_days: VEHICLE_EVENT_DAYS,
    has_requirements: settings.requirements !== null,
    requirements: answerRequirements(file, agency.provider_id),
    vehicles: vehiclesIn(await countVehicleStates(db, systemId, settings.boundary !== null), settings),
    hours: hoursUntil(now, Math.min(since.getTime(), tripsSince.getTime()), reads),
    months: months.map(({ month, ends_at: end }) => ({ month, status: end.getTime() + SETTLE_MS > now ? 404 : 200 })),
    reads: reads.slice(0, SHOWN_READS),
  };
}

/**
 * Counts the vehicles within a boundary by state, the most frequent state first. Vehicles without a known position
 * count as within.
 */
function vehiclesIn(
  rows: readonly StateRow[],
  { boundary }: Pick<AgencySettings, "boundary">,
): ShownAgency["vehicles"] {
  const isWithin = boundary === null ? everywhere : jurisdictionOf(boundary as MultiPolygon); // checked when it was set
  const there = rows.filter(({ lat, lon }) => lat === null || lon === null || isWithin(lat, lon));
  const sum = (of: readonly StateRow[], name: "vehicles" | "nowhere" | "untyped") =>
    of.reduce((total, row) => total + row[name], 0);
  const states = [...Map.groupBy(there, ({ state }) => state)].map(([state, inState]) => ({
    state,
    vehicles: sum(inState, "vehicles"),
  }));
  return {
    states: states.sort((a, b) => b.vehicles - a.vehicles || a.state.localeCompare(b.state, "en")),
    nowhere: sum(there, "nowhere"),
    untyped: sum(there, "untyped"),
  };
}

/** Returns what the agency has read, from the audit log, the newest first. */
async function readsOf(db: Queryable, systemId: string, partnerId: string): Promise<ShownAgency["reads"]> {
  const acts = await listActs(db, systemId, { subject: partnerId, limit: SEARCHED_ACTS });
  return acts
    .filter(({ action }) => action === "mds.read")
    .map(({ at, detail }) => {
      // `recordRead` and `downloadReport` write one of the three times, depending on the endpoint.
      const { endpoint, hour, month, from } = detail as Readonly<Record<string, string | undefined>>;
      return { at: at.toISOString(), endpoint: endpoint ?? "", what: hour ?? month ?? from ?? "" };
    });
}

/**
 * Returns the latest hours, newest first, each with the status that the agency gets when it asks for the hour.
 * @param since the time from which on the agency can read trips or events, whichever is earlier
 */
function hoursUntil(now: number, since: number, reads: ShownAgency["reads"]): ShownAgency["hours"] {
  const present = now - (now % HOUR_MS);
  return Array.from({ length: SHOWN_HOURS }, (_, index) => {
    const start = present - index * HOUR_MS;
    const hour = new Date(start).toISOString();
    const read = reads.find(({ what }) => what === hour);
    return { hour, status: statusOfHour(start, { now, since }), read_at: read?.at ?? null };
  });
}

/** Returns the status of a request for an hour: 202 until it is settled, 404 when it is not served. */
function statusOfHour(hour: number, times: Parameters<typeof isSettled>[1]): 200 | 202 | 404 {
  try {
    return isSettled(hour, times) ? 200 : 202;
  } catch (error) {
    if (error instanceof ServiceError) return 404;
    throw error;
  }
}

/**
 * Returns a month's report as the agency gets it. The audit log names who read it.
 * @throws ServiceError `not_found` when the partner is not an agency, and where `reportOf` throws it
 */
export async function downloadReport(
  context: ActorContext & AgencyReads,
  whose: ListReader,
  file: string,
): Promise<{ readonly month: string; readonly text: string }> {
  const { db } = context;
  const { systemId, partnerId } = whose;
  if ((await findAgency(db, systemId, partnerId)) === undefined) throw serviceError("not_found", "report");
  const agency = await agencyOf(context, whose);
  const report = await reportOf(context, agency, file);
  const detail = { endpoint: "/mds/reports", month: report.month };
  await insertActOf(context, db, { systemId, action: "mds.read", subject: partnerId, detail });
  return { month: report.month, text: reportText(report, agency) };
}
