import { MIN_FLOW_RIDES } from "@bikeshare/contract";

/** The id of the station where a ride began or ended; null: it was outside a station. */
type Place = string | null;

/** The region that a ride of a rare pair names instead of a station; null: that end of the ride was outside a station. */
type RegionId = string | null;

/** How the privacy level `coarse` names the ends of a ride: by stations or by regions. Undefined: the ride is left out. */
export type PairNaming = "stations" | { readonly start: RegionId; readonly end: RegionId } | undefined;

/** The highest count of a pair, which fits into one byte. Higher counts make no difference. */
const SATURATED = 255;

/**
 * Counts rides by pair of start and end. Uses one byte for each pair: 4 MB for a city of 2,000 stations, up to 164 MB for
 * 10,000. A `Map` with an entry for each of a million pairs would take more.
 */
export class PairCounter {
  /** The index of each place in `#counts` and in its rows. */
  readonly #indexes = new Map<Place, number>();
  /** For each start, the number of rides to each end. Rows are as long as their greatest end needs. */
  readonly #counts: Uint8Array[] = [];

  /** Counts a ride. */
  add(start: Place, end: Place): void {
    const startIndex = this.#indexOf(start);
    const endIndex = this.#indexOf(end);
    const row = this.#row(startIndex, endIndex);
    const count = row[endIndex] ?? 0;
    if (count < SATURATED) row[endIndex] = count + 1;
  }

  /**
   * Decides how each pair is named, once all rides are counted. A pair with fewer than `MIN_FLOW_RIDES` rides is merged with
   * the other rare pairs of the same two regions. Its rides are left out if the merged pairs have too few rides together, if
   * one of its stations has no region, or if both its ends are outside a station.
   */
  namings(regionOf: (stationId: string) => string | undefined): (start: Place, end: Place) => PairNaming {
    const places = [...this.#indexes.keys()];
    const regions = places.map((place) => (place === null ? null : regionOf(place)));
    const merged = new Map<string, number>();
    for (const [start, row] of this.#counts.entries()) {
      for (const [end, count] of row.entries()) {
        if (count === 0 || count >= MIN_FLOW_RIDES) continue;
        const key = regionPair(regions[start], regions[end]);
        if (key !== undefined) merged.set(key, (merged.get(key) ?? 0) + count);
      }
    }
    return (start, end) => {
      const startIndex = this.#indexOf(start);
      const endIndex = this.#indexOf(end);
      if ((this.#counts[startIndex]?.[endIndex] ?? 0) >= MIN_FLOW_RIDES) return "stations";
      const [startRegion, endRegion] = [regions[startIndex], regions[endIndex]];
      const key = regionPair(startRegion, endRegion);
      const isFrequent = key !== undefined && (merged.get(key) ?? 0) >= MIN_FLOW_RIDES;
      if (!isFrequent || startRegion === undefined || endRegion === undefined) return undefined;
      return { start: startRegion, end: endRegion };
    };
  }

  /** Returns the index of a place. A new place gets the next one, and an empty row. */
  #indexOf(place: Place): number {
    const known = this.#indexes.get(place);
    if (known !== undefined) return known;
    const index = this.#indexes.size;
    this.#indexes.set(place, index);
    this.#counts.push(new Uint8Array(0));
    return index;
  }

  /** Returns the counts of the pairs with a start. Lengthens them if they have none for `end`. */
  #row(start: number, end: number): Uint8Array {
    const row = this.#counts[start] ?? new Uint8Array(0);
    if (end < row.length) return row;
    // Doubles the length, so that a row is seldom copied.
    const longer = new Uint8Array(Math.max(64, 2 ** Math.ceil(Math.log2(end + 1))));
    longer.set(row);
    this.#counts[start] = longer;
    return longer;
  }
}

/** Returns a key for a pair of regions; undefined: a station has no region, or both ends are outside a station. */
function regionPair(start: string | null | undefined, end: string | null | undefined): string | undefined {
  if (start === undefined || end === undefined || (start === null && end === null)) return undefined;
  return JSON.stringify([start, end]);
}
