import { serviceError } from "@bikeshare/rules";
import { timeZoneOfSystem } from "../../city/descriptions/service.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { SETTLE_MS } from "./hours.rules.ts";
import {
  type CountedBy,
  countTripsOfDay,
  countTripsWithin,
  type DayCount,
  type DayRow,
  keepTripsOfDay,
  listReportDays,
  listFormsInOperation,
} from "./report-queries.ts";
import type { Report } from "./report.rules.ts";
import type { Agency, AgencyReads } from "./service.ts";
import { listFormFactors } from "./stop-queries.ts";

/** The dependencies of reports. `db` is for writing counts, because `filtered` only reads. */
interface ReportContext extends AgencyReads {
  readonly db: Queryable;
}

/**
 * Returns the trips of a month. Counts each day on its own and stores its counts, so that a request counts only the days
 * that have changed since.
 * @param file the name of the requested file, such as `2026-10.csv`
 * @throws ServiceError `not_found` for another name than that of a month, for a month whose last hour is not settled, and
 *   for a month that was over before the agency can read trips
 */
export async function reportOf(context: ReportContext, agency: Agency, file: string): Promise<Report> {
  const [, month] = /^(\d{4}-(?:0[1-9]|1[0-2]))\.csv$/.exec(file) ?? [];
  // PostgreSQL has no year 0.
  if (month === undefined || month < "0001") throw serviceError("not_found", "report");
  const { filtered, clock } = context;
  const { whose, tripsSince } = agency;
  const timeZone = agency.timeZone ?? (await filtered.read(whose, (db) => timeZoneOfSystem(db, whose.systemId)));
  const by: CountedBy = { timeZone, boundaryHash: agency.boundaryHash };
  const days = await filtered.read(whose, (db) => listReportDays(db, whose.systemId, by, `${month}-01`));
  const end = days.at(-1)?.to.getTime() ?? 0;
  const iso = (at: number) => new Date(at).toISOString();
  if (end <= tripsSince) throw serviceError("not_found", "monthBefore", { since: iso(tripsSince) });
  if (end + SETTLE_MS > clock()) throw serviceError("not_found", "monthAhead", { at: iso(end + SETTLE_MS) });
  const trips: DayCount[] = [];
  for (const day of days) trips.push(...(await tripsOfDay(context, agency, by, day)));
  const forms = await filtered.read(whose, (db) => listFormFactors(db, whose.systemId));
  const counts = trips.map(({ vehicle_type_id: type, ...count }) => ({
    ...count,
    form_factor: forms.get(type ?? "") ?? null,
  }));
  const formsInOperation = await filtered.read(whose, (db) => listFormsInOperation(db, whose.systemId));
  return { month, counts, formsInOperation };
}

/** Returns the stored counts of a day if its version is still the same. Otherwise counts its trips and stores the counts. */
async function tripsOfDay(
  { filtered, db }: ReportContext,
  { whose, isWithin }: Agency,
  by: CountedBy,
  day: DayRow,
): Promise<readonly DayCount[]> {
  if (day.counts !== null && day.counted_version === day.version) return day.counts;
  const counts = await filtered.read(whose, (reader) =>
    by.boundaryHash === null
      ? countTripsOfDay(reader, whose.systemId, day)
      : countTripsWithin(reader, whose.systemId, day, isWithin),
  );
  await keepTripsOfDay(db, whose.systemId, by, { ...day, counts });
  return counts;
}
