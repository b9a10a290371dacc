import type { VehicleReport } from "../../city/fleet/snapshot-decision.rules.ts";
import type { StationInformation, StationStatusReport } from "../../city/fleet/station.rules.ts";
import { type Description, type DescriptiveFeed, descriptiveFeeds } from "./descriptions.ts";
import type { DocumentName, Documents } from "./documents.ts";
import type { Feed } from "./feed.ts";
import { FeedFailure } from "./problems.ts";

/** A place from which the feeds of a system are read: an address, or a directory. */
export interface GbfsSource {
  /**
   * Reads a feed; undefined when the source has no such feed, or the feed has not changed or is not due yet.
   * @param now milliseconds since 1970
   * @throws FeedFailure
   */
  read<Name extends DocumentName>(feed: Name, now: number): Promise<Documents[Name] | undefined>;
  /** Returns the names of all its feeds, including those that the service does not read. Tests may omit it. */
  names?(): Promise<readonly string[]>;
}

/** The feeds of a source that could be fetched and read. A feed is undefined if it failed, is absent or has not changed. */
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
  /**
   * True, after an import: all feeds were read, so a feed that is missing from the snapshot and from `failures` does not
   * exist in the source. Undefined, after a poll: such a feed may only not have changed.
   */
  readonly isWhole?: boolean;
}

/**
 * Fetches and reads all feeds that the service uses, one after the other, so that the unparsed documents of only one feed
 * are in memory. Goes on with the next feed when one fails.
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
  // Reads this feed first, because it gives the language of the texts in the other feeds.
  await describe("system_information");
  const information = await read("station_information");
  const status = await read("station_status");
  // GBFS 3.x has `vehicle_status`, older versions `free_bike_status`. A source with both has the same vehicles in each.
  const vehicles = (await read("vehicle_status")) ?? (await read("free_bike_status"));
  for (const name of descriptiveFeeds) if (name !== "system_information") await describe(name);
  return { snapshot: { information, status, vehicles, descriptions }, failures };
}
