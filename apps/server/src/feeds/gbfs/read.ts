import type { VehicleReport } from "../../bikes/bike.ts";
import type { StationInformation, StationReadings } from "../../stations/station.ts";
import { readDescription, type Description } from "./descriptions.ts";
import { FeedFailure, type Feed } from "./feed.ts";
import { readStationInformation, readStationStatus, readVehicles } from "./forms.ts";
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

/** Gets and reads all feeds that we use. One that fails is no obstacle to the others. @param now ms since 1970 */
export async function readSnapshot(source: GbfsSource, now: number): Promise<SourceReading> {
  const failures: FeedFailure[] = [];
  const read = async <Content>(name: string, parse: (document: unknown) => Content) => {
    try {
      const document = await source.document(name);
      return document === undefined ? undefined : parse(document);
    } catch (error) {
      if (!(error instanceof FeedFailure)) throw error;
      failures.push(error);
      return undefined;
    }
  };
  const vehicles = async () => {
    // 3.x has vehicle_status; a source that offers both says the same in each.
    for (const name of ["vehicle_status", "free_bike_status"]) {
      const feed = await read(name, (document) => readVehicles(name, document, now));
      if (feed) return feed;
    }
    return undefined;
  };
  const describe = (name: Description["feed"]) => read(name, (document) => readDescription(name, document, now));
  const [information, readings, vehicleFeed, ...descriptions] = await Promise.all([
    read("station_information", (document) => readStationInformation(document, now)),
    read("station_status", (document) => readStationStatus(document, now)),
    vehicles(),
    describe("system_information"),
    describe("vehicle_types"),
    describe("system_regions"),
  ]);
  const described = descriptions.filter((description) => description !== undefined);
  return { snapshot: { information, readings, vehicles: vehicleFeed, descriptions: described }, failures };
}
