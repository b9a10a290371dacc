import type { Queryable } from "../../storage/db/database.ts";
import { DeliveryChanges } from "../../webhooks/log/delivery-changes.ts";
import { LiveHub } from "./live-hub.ts";

/** Milliseconds between two polls of what is watched. Less, and open pages cost more than they show. */
const POLL_INTERVAL_MS = 1_000;

export interface LiveFeed {
  readonly hub: LiveHub;
  /** Ends all streams, and looks no more. */
  close(): Promise<void>;
}

/** What a stream of deliveries is about. */
export function deliveriesKey(systemId: string, endpointId: string): string {
  return `deliveries\n${systemId}\n${endpointId}`;
}

/**
 * Looks for changes of what open pages watch: once a second for all pages of this process together, one statement for each
 * system, and not at all while nobody watches. Nothing that sends deliveries knows of it, or pays for it.
 */
export function createLiveFeed(db: Queryable, prefix: string): LiveFeed {
  const hub = new LiveHub(prefix);
  const changes = new DeliveryChanges();
  let polling: Promise<void> | undefined;
  const poll = async () => {
    const watched = hub.watched().map((key) => key.split("\n") as [string, string, string]);
    changes.forget((systemId, endpointId) =>
      watched.some(([, system, id]) => system === systemId && id === endpointId),
    );
    for (const [systemId, keys] of Map.groupBy(watched, ([, system]) => system)) {
      const endpointIds = keys.map(([, , id]) => id);
      // A poll that fails is made up for by the next, which compares with what was seen last; the other systems go on.
      const found = await changes.poll(db, systemId, endpointIds).catch(() => []);
      for (const { endpointId, ids, more } of found) {
        hub.publish(deliveriesKey(systemId, endpointId), "deliveries", { ids, more });
      }
    }
  };
  const timer = setInterval(() => {
    if (polling !== undefined || hub.watched().length === 0) return;
    polling = poll().finally(() => (polling = undefined));
  }, POLL_INTERVAL_MS);
  timer.unref();
  return {
    hub,
    close: async () => {
      clearInterval(timer);
      hub.close();
      await polling;
    },
  };
}
