import type { Queryable } from "../../storage/db/database.ts";
import { type ChangeRow, listNewestDeliveries } from "./delivery-change-queries.ts";

/** Deliveries of an endpoint that are followed: the newest. Older ones change rarely, and few pages show them. */
const FOLLOWED_DELIVERIES = 200;
/** Ids that are named at once. */
const MAX_IDS = 50;

/** The changes of an endpoint's deliveries since the last poll. */
export interface Changes {
  readonly endpointId: string;
  /** The newest first. */
  readonly ids: readonly string[];
  /** There are more changes than those listed. */
  readonly more: boolean;
}

/** Finds out which of the newest deliveries of some endpoints have changed, by reading them again and again. */
export class DeliveryChanges {
  /** The last seen state of each of the newest deliveries, by endpoint. */
  readonly #seen = new Map<string, ReadonlyMap<string, string>>();

  /** Reads all of a system's watched endpoints in one statement. The first poll of one finds no change. */
  async poll(db: Queryable, systemId: string, endpointIds: readonly string[]): Promise<Changes[]> {
    const rows = await listNewestDeliveries(db, systemId, endpointIds, FOLLOWED_DELIVERIES);
    const byEndpoint = Map.groupBy(rows, (row) => row.endpoint_id);
    return endpointIds.flatMap((endpointId) => {
      const states = new Map((byEndpoint.get(endpointId) ?? []).map((row) => [row.id, stateOf(row)]));
      const before = this.#seen.get(`${systemId}\n${endpointId}`);
      this.#seen.set(`${systemId}\n${endpointId}`, states);
      const ids =
        before === undefined ? [] : [...states].flatMap(([id, state]) => (before.get(id) === state ? [] : [id]));
      return ids.length === 0 ? [] : [{ endpointId, ids: ids.slice(0, MAX_IDS), more: ids.length > MAX_IDS }];
    });
  }

  /** Forgets endpoints without a watcher. @param isWatched of a system and an endpoint */
  forget(isWatched: (systemId: string, endpointId: string) => boolean): void {
    for (const key of [...this.#seen.keys()]) {
      const [systemId = "", endpointId = ""] = key.split("\n");
      if (!isWatched(systemId, endpointId)) this.#seen.delete(key);
    }
  }
}

function stateOf({ status, attempts, latest_failure: failure }: ChangeRow): string {
  return `${status} ${attempts} ${failure ?? ""}`;
}
