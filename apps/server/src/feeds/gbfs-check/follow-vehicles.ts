import { parseBounded } from "../gbfs/bounded-json.ts";
import { isObject, numberFrom } from "../gbfs/values.ts";
import type { FeedFiles, FollowedVehicles } from "./feed-set.ts";
import { objectsIn } from "./rules/rule.ts";

/** The options and dependencies of `followVehicles`. */
export interface FollowOptions {
  readonly minutes: number;
  /** Reads the file at an address again. */
  readonly read: (address: string) => Promise<Uint8Array>;
  /** Waits. Rejects when the command is stopped. */
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Aborted when the command is stopped, so that a stopped read is not taken for a failed one. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each read with the number of successful reads so far. */
  readonly onRead?: (reads: number) => void;
}

/**
 * Limits of the seconds between two reads, which are otherwise the file's `ttl`. Too low: floods the server. Too high:
 * leaves too few reads to compare.
 */
const LEAST_SECONDS = 15;
const MOST_SECONDS = 60;
/** Maximum vehicles that are remembered. Beyond it, all are forgotten, and only later rides are found. */
const MAX_VEHICLES = 200_000;
/** Minimum distance that counts as a ride. Too low: inaccurate positions count as rides. */
const RIDDEN_METRES = 300;

/** Where a vehicle was when it was last seen. */
interface Seen {
  readonly lat: number;
  readonly lon: number;
}

/**
 * Reads the vehicles repeatedly, to find out whether vehicles get new ids after rides. Counts failed reads, and goes on.
 * @returns undefined when the feed set has no file of vehicles
 */
export async function followVehicles(files: FeedFiles, options: FollowOptions): Promise<FollowedVehicles | undefined> {
  const { minutes, read, wait, signal, onRead } = options;
  const file = files.files.find(
    ({ name, bytes }) => /^(?:vehicle_status|free_bike_status)$/.test(name) && bytes !== undefined,
  );
  if (file?.bytes === undefined) return undefined;
  const watch = new VehicleWatch();
  watch.take(file.bytes);
  let waited = 0;
  while (waited < minutes * 60) {
    const seconds = Math.min(MOST_SECONDS, Math.max(LEAST_SECONDS, watch.ttl));
    await wait(seconds * 1000);
    waited += seconds;
    try {
      watch.take(await read(file.address));
    } catch (error) {
      signal?.throwIfAborted();
      watch.fail(error);
    }
    onRead?.(watch.reads);
  }
  return { minutes, ...watch.result() };
}

/** Compares the vehicles of several reads. */
class VehicleWatch {
  readonly #seen = new Map<string, Seen>();
  /** The ids of vehicles that moved and kept their id. */
  readonly #kept = new Set<string>();
  /** The values of `last_updated` in all reads. */
  readonly #times = new Set<unknown>();
  #failed = 0;
  #failure: string | undefined;
  reads = 0;
  /** The `ttl` of the latest successful read, in seconds. */
  ttl = 0;

  /** Adds a response, which counts as a failed read if it is not a document of GBFS. */
  take(bytes: Uint8Array): void {
    try {
      this.#compare(parseBounded(bytes));
    } catch (error) {
      this.fail(error);
    }
  }

  /** Adds a failed read. */
  fail(error: unknown): void {
    this.#failed++;
    this.#failure ??= error instanceof Error ? error.message : String(error);
  }

  #compare(content: unknown): void {
    if (!isObject(content) || !isObject(content["data"])) throw new Error("it has no `data`");
    this.reads++;
    this.ttl = numberFrom(content["ttl"]) ?? 0;
    this.#times.add(content["last_updated"]);
    const { vehicles, bikes } = content["data"];
    const present = new Map<string, Seen>();
    for (const vehicle of objectsIn(vehicles ?? bikes).slice(0, MAX_VEHICLES)) {
      const id = vehicle["vehicle_id"] ?? vehicle["bike_id"];
      const [lat, lon] = [numberFrom(vehicle["lat"]), numberFrom(vehicle["lon"])];
      if (typeof id === "string" && lat !== undefined && lon !== undefined) present.set(id, { lat, lon });
    }
    for (const [id, now] of present) {
      const before = this.#seen.get(id);
      // Counts only vehicles that have moved. One that was absent and is at the same place may have had no connection.
      if (before !== undefined && metres(before, now) > RIDDEN_METRES) this.#kept.add(id);
      this.#seen.set(id, now);
    }
    if (this.#seen.size > MAX_VEHICLES) this.#seen.clear();
  }

  result(): Omit<FollowedVehicles, "minutes"> {
    const isUpdated = this.reads < 2 ? undefined : this.#times.size > 1;
    return { reads: this.reads, failed: this.#failed, failure: this.#failure, kept: [...this.#kept], isUpdated };
  }
}

const METRES_PER_DEGREE = 111_200;

/** Returns the approximate distance of two near positions. */
function metres(a: Seen, b: Seen): number {
  const east = (a.lon - b.lon) * Math.cos((a.lat * Math.PI) / 180);
  return Math.hypot(a.lat - b.lat, east) * METRES_PER_DEGREE;
}
