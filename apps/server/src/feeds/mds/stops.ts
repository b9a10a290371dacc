import { serviceError } from "@bikeshare/rules";
import { type Agency, type AgencyReads, findNamed } from "./service.ts";
import { findStop, listFormFactors, listStopIds, listStops, type StopRow } from "./stop-queries.ts";

/** Stations of a statement. Too low: makes more statements. Too high: one of them runs for too long. */
const BATCH_SIZE = 1_000;

/** Returns every station within the agency's boundary. There is one page: MDS has no pages for stops. */
export async function stopsOf(
  reads: AgencyReads,
  agency: Agency,
): Promise<{ readonly rows: readonly StopRow[]; readonly formFactors: ReadonlyMap<string, string> }> {
  const { whose } = agency;
  const rows: StopRow[] = [];
  let last = "";
  for (;;) {
    const after = last;
    const more = await reads.filtered.read(whose, (db) => listStops(db, whose.systemId, after, BATCH_SIZE));
    rows.push(...more.filter(({ lat, lon }) => agency.isWithin(lat, lon)));
    last = more.at(-1)?.id ?? last;
    if (more.length < BATCH_SIZE) return { rows, ...(await shapesOf(reads, agency)) };
  }
}

/** Returns the station that an agency knows by a UUID. @throws ServiceError `not_found` */
export async function stopOfId(
  reads: AgencyReads,
  agency: Agency,
  stopId: string,
): Promise<{ readonly row: StopRow; readonly formFactors: ReadonlyMap<string, string> }> {
  const row = await findNamed(reads, agency, stopId, { kind: "stop", listIds: listStopIds, find: findStop });
  if (!agency.isWithin(row.lat, row.lon)) throw serviceError("not_found", "stop");
  return { row, ...(await shapesOf(reads, agency)) };
}

async function shapesOf({ filtered }: AgencyReads, { whose }: Agency) {
  return { formFactors: await filtered.read(whose, (db) => listFormFactors(db, whose.systemId)) };
}
