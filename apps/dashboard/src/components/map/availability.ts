/** The availability of a station in one word, which the map draws and the table filters by. */
import type { MappedStation } from "@bikeshare/contract/console";
import { lookUp } from "../look-up.ts";

/** `bikes`: bikes and free docks. `few`: one or two bikes. `empty`, `full`: no bike or no dock. `closed`: not in service. */
export type Availability = "bikes" | "few" | "empty" | "full" | "closed";

/** Sorted as the legend lists them. */
export const AVAILABILITIES: readonly Availability[] = ["bikes", "few", "empty", "full", "closed"];

/** The availabilities in words for readers. */
export const availabilityLabels: Readonly<Record<Availability, string>> = {
  bikes: "Bikes and docks",
  few: "Few bikes",
  empty: "No bikes",
  full: "No docks",
  closed: "Closed",
};

/** The fields of a station from which its availability is computed. */
export type Counted = Pick<MappedStation, "status" | "bikes" | "docks" | "is_renting" | "is_returning">;

/** Up to this number of bikes, a station has "few": a rider on the way there may find none. */
const FEW_BIKES = 2;

/**
 * Returns the availability of a station. One that rents no bikes counts as empty, whatever it holds. One that rents bikes and
 * takes none back counts as full.
 */
export function availabilityOf(station: Counted): Availability {
  if (station.status !== "online") return "closed";
  if (station.bikes === 0 || !station.is_renting) return "empty";
  if (station.docks === 0 || !station.is_returning) return "full";
  return station.bikes <= FEW_BIKES ? "few" : "bikes";
}

/** The capacity assumed for a station that publishes neither its capacity nor its free docks. */
const USUAL_CAPACITY = 20;

/** Returns how many bikes fit into a station: its published capacity, or else its bikes plus its free docks. */
export function capacityOf({ capacity, bikes, docks }: Pick<MappedStation, "capacity" | "bikes" | "docks">): number {
  return Math.max(capacity ?? (docks === null ? USUAL_CAPACITY : bikes + docks), 1);
}

const closedReasons: Readonly<Record<string, string>> = {
  flags: "reports itself closed",
  operator: "closed by the operator",
  removed_from_source: "gone from the feed",
  stale: "has not reported for too long",
};

/** Returns why a station is closed; undefined if it is open or the reason is not known. */
export function closedReason({
  status,
  offline_reason: reason,
}: Pick<MappedStation, "status" | "offline_reason">): string | undefined {
  if (status === "planned" || status === "removed") return status;
  return reason === null ? undefined : lookUp(closedReasons, reason);
}
