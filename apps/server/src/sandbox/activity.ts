import { eventNames } from "@bikeshare/contract";
import { MAX_SANDBOX_HAPPENINGS } from "@bikeshare/contract/console";
import type { SandboxFault, SandboxWebhookFaults } from "@bikeshare/contract/sandbox";
import type { CommandContext } from "../command-context.ts";
import { latestEvents } from "../events/service.ts";
import { addDays, dayOf } from "../storage/partitions/partition.rules.ts";
import { type DeliveryView, listPartnersDeliveries } from "../webhooks/log/deliveries.ts";
import { lastingFaults } from "./faults.rules.ts";
import { findSandbox } from "./queries.ts";

/*
 * What happens in a sandbox, for its page of the dashboard: the latest events with their deliveries, and the active
 * faults.
 */

/** Number of deliveries that are read: enough for the listed events when the sandbox has a few webhooks. */
const READ_DELIVERIES = 100;

/** An event in a sandbox, with its deliveries. */
interface Happening {
  readonly event_id: string;
  readonly event: string;
  readonly resource_id: string | null;
  readonly at: Date;
  readonly deliveries: readonly DeliveryView[];
}

/**
 * Returns the latest events of a sandbox since yesterday, each with its deliveries, the newest first. Notices, such as
 * `station.updated`, and test deliveries are not listed as events, so they are taken from the deliveries.
 */
export async function latestHappenings(
  context: CommandContext,
  { systemId, partnerId }: { readonly systemId: string; readonly partnerId: string },
): Promise<readonly Happening[]> {
  const yesterday = addDays(dayOf(context.clock()), -1);
  const viewer = { partnerId, names: eventNames };
  const [events, { deliveries }] = await Promise.all([
    latestEvents(context, systemId, viewer, { since: yesterday, limit: MAX_SANDBOX_HAPPENINGS }),
    listPartnersDeliveries(context, { systemId, partnerId, since: new Date(yesterday), limit: READ_DELIVERIES }),
  ]);
  const byEvent = Map.groupBy(deliveries, ({ event_id: id }) => id);
  const recorded = events.map(({ id, name, occurred_at: at, resource_id }) => ({
    event_id: id,
    event: name,
    resource_id,
    at,
    deliveries: byEvent.get(id) ?? [],
  }));
  const known = new Set(events.map(({ id }) => id));
  // Deliveries that are older than all listed events are left out, because their own events may be beyond the limit.
  const oldest = events.length < MAX_SANDBOX_HAPPENINGS ? undefined : events.at(-1)?.occurred_at;
  const others = [...byEvent].flatMap(([id, sent]) => {
    const [first] = sent;
    if (first === undefined || known.has(id) || (oldest !== undefined && first.created_at < oldest)) return [];
    const { event, resource_id, created_at: at } = first;
    return [{ event_id: id, event, resource_id, at, deliveries: sent }];
  });
  return [...recorded, ...others]
    .toSorted((one, other) => other.at.getTime() - one.at.getTime())
    .slice(0, MAX_SANDBOX_HAPPENINGS);
}

/** The simulated faults of a sandbox that are active now. */
export interface ActiveFaults {
  readonly faults: readonly SandboxFault[];
  /** The faults of deliveries; null: none. */
  readonly webhook_faults: SandboxWebhookFaults | null;
  /** Whether the sandbox has no city, because it was emptied and its city is being created again. */
  readonly is_waking: boolean;
}

/** Returns the faults of a sandbox that have not ended. */
export async function activeFaults({ db, clock }: CommandContext, systemId: string): Promise<ActiveFaults> {
  const sandbox = await findSandbox(db, systemId);
  const now = clock();
  const ofDeliveries = sandbox?.webhook_faults ?? null;
  const isOver = ofDeliveries?.until !== undefined && Date.parse(ofDeliveries.until) <= now;
  return {
    faults: lastingFaults(sandbox?.faults ?? [], now),
    webhook_faults: isOver ? null : ofDeliveries,
    is_waking: sandbox?.has_city !== true,
  };
}
