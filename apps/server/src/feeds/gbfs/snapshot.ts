import type { VehicleReport } from "../../city/fleet/snapshot-decision.rules.ts";
import type { StationInformation, StationStatusReport } from "../../city/fleet/station.rules.ts";
import { type Description, type DescriptiveFeed, descriptiveFeeds } from "./descriptions.ts";
import type { DocumentName, Documents } from "./documents.ts";
import type { Feed } from "./feed.ts";
import { FeedFailure } from "./problems.ts";

/** The source of a system's feeds. */
export interface GbfsSource {
  /**
   * Reads a feed; undefined when the source has no such feed, or nothing new in it.
   * @param now milliseconds since 1970
   * @throws FeedFailure
   */
  read<Name extends DocumentName>(feed: Name, now: number): Promise<Documents[Name] | undefined>;
  /** Names of all its feeds, those that we do not read included. */
  names?(): Promise<readonly string[]>;
}

/** The feeds of a source, as far as they can be fetched and read. Undefined: no snapshot of that feed. */
export interface GbfsSnapshot {
  readonly information?: Feed<StationInformation> | undefined;
  readonly status?: Feed<StationStatusReport> | undefined;
  readonly vehicles?: Feed<VehicleReport> | undefined;
  /** Descriptions of the system as a whole. */
  readonly descriptions?: readonly Description[];
}

/** A snapshot, and the feeds that failed. */
export interface SourceSnapshot {
  readonly snapshot: GbfsSnapshot;
  readonly failures: readonly FeedFailure[];
  /** Whether it has all feeds of its source: one that is not there does not exist. */
  readonly isWhole?: boolean;
}

/**
 * Fetches and reads all feeds that we use, one after the other, so that no two are in memory at a time. One that fails is
 * no obstacle to the others.
 * @param now milliseconds since 1970
 */
export async function readSnapshot(source: GbfsSource, now: number): Promise<SourceSnapshot> {
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
  const descriptions: Description[] = [];
  const describe = async (name: DescriptiveFeed) => {
    const description = await read(name);
    if (description) descriptions.push(description);
  };
  // First, because it says the language of the texts in the others.
  await describe("system_information");
  const information = await read("station_information");
  const status = await read("station_status");
  // 3.x has vehicle_status; a source with both has the same vehicles in each.
  const vehicles = (await read("vehicle_status")) ?? (await read("free_bike_status"));
  for (const name of descriptiveFeeds) if (name !== "system_information") await describe(name);
  return { snapshot: { information, status, vehicles, descriptions }, failures };
}
