import type { VehicleReport } from "../../fleet/bike.ts";
import type { StationInformation, StationReadings } from "../../fleet/station.ts";
import type { Description } from "./descriptions.ts";
import type { DocumentName, Documents } from "./documents.ts";
import { FeedFailure, type Feed } from "./feed.ts";
import type { GbfsSource } from "./source.ts";

/** What the feeds of a source said, as far as they could be got and read. Undefined: no snapshot of that feed. */
export interface GbfsSnapshot {
  readonly information?: Feed<StationInformation> | undefined;
  readonly readings?: Feed<StationReadings> | undefined;
  readonly vehicles?: Feed<VehicleReport> | undefined;
  /** What it said of the system as a whole. */
  readonly descriptions?: readonly Description[];
}

/** A snapshot, and the feeds that failed. */
export interface SourceReading {
  readonly snapshot: GbfsSnapshot;
  readonly failures: readonly FeedFailure[];
}

/**
 * Gets and reads all feeds that we use, one after the other, so that no two are in memory at a time. One that fails is
 * no obstacle to the others.
 * @param now milliseconds since 1970
 */
export async function readSnapshot(source: GbfsSource, now: number): Promise<SourceReading> {
  const failures: FeedFailure[] = [];
  const read = async <Name extends DocumentName>(name: Name): Promise<Documents[Name] | undefined> => {
    try {
      return await source.read(name, now);
    } catch (error) {
      if (!(error instanceof FeedFailure)) throw error;
      failures.push(error);
      return undefined;
    }
  };
  const information = await read("station_information");
  const readings = await read("station_status");
  // 3.x has vehicle_status; a source that offers both says the same in each.
  const vehicles = (await read("vehicle_status")) ?? (await read("free_bike_status"));
  const descriptions: Description[] = [];
  for (const name of ["system_information", "vehicle_types", "system_regions"] as const) {
    const description = await read(name);
    if (description) descriptions.push(description);
  }
  return { snapshot: { information, readings, vehicles, descriptions }, failures };
}
