import { serviceError } from "@bikeshare/rules";
import { type Agency, type AgencyReads, findNamed } from "./service.ts";
import { findStop, listFormFactors, listStopIds, listStops, type StopRow } from "./stop-queries.ts";

/** Stations that one statement reads. Too low: needs more statements. Too high: one statement runs for too long. */
const BATCH_SIZE = 1_000;

/** Returns every station within the agency's boundary, on one page, because MDS has no pages for stops. */
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
    if (more.length < BATCH_SIZE) return { rows, ...(await formFactorsOf(reads, agency)) };
  }
}

/** Returns the station with a UUID. @throws ServiceError `not_found`, also outside the agency's boundary */
export async function stopOfId(
  reads: AgencyReads,
  agency: Agency,
  stopId: string,
): Promise<{ readonly row: StopRow; readonly formFactors: ReadonlyMap<string, string> }> {
  const row = await findNamed(reads, agency, stopId, { kind: "stop", listIds: listStopIds, find: findStop });
  if (!agency.isWithin(row.lat, row.lon)) throw serviceError("not_found", "stop");
  return { row, ...(await formFactorsOf(reads, agency)) };
}

/** Returns what `stopRecord` needs beside the stations: the form factors of the system's vehicle types. */
async function formFactorsOf({ filtered }: AgencyReads, { whose }: Agency) {
  return { formFactors: await filtered.read(whose, (db) => listFormFactors(db, whose.systemId)) };
}
