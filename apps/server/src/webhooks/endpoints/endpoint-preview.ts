import type { Threshold } from "@bikeshare/contract";
import type { Queryable } from "../../storage/db/database.ts";
import { type EndpointScope, expandEvents, requirePartner } from "./endpoint-context.ts";
import { placeColumns, type Places, requireKnownPlaces } from "./endpoint-places.ts";
import { countPastEvents, type HourCount } from "./endpoint-queries.ts";
import { pastCrossings, requireFewThresholds, THRESHOLD_EVENTS } from "./endpoint-thresholds.ts";

/** The deliveries that an endpoint would have received in the last 24 hours. */
export interface Preview {
  readonly since: Date;
  readonly until: Date;
  /** Without the skipped ones. */
  readonly deliveries: number;
  /** Deliveries above `max_per_hour`. */
  readonly skipped: number;
  readonly by_event: readonly { readonly event: string; readonly deliveries: number }[];
  /** False: there are more events, or changes of stations, than are looked at. */
  readonly is_complete: boolean;
}

/** The settings that decide which events an endpoint receives. */
export interface PreviewedSettings {
  readonly events: readonly string[];
  readonly places: Places | null;
  readonly thresholds?: readonly Threshold[] | undefined;
  readonly max_per_hour?: number | null | undefined;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/**
 * Events, and likewise changes of stations, that one preview looks at: all of a day of a large city. Too high: one request
 * reads for seconds.
 */
const MAX_PREVIEWED = 100_000;

/**
 * Counts the events of the last 24 hours that an endpoint with these settings would have been sent. Notices
 * (`station.updated`, `bike.state_changed`) are not kept, and so not counted. Stations are looked up as they are now, and
 * thresholds are compared with their history, as if they had been set 24 hours ago.
 * @throws ServiceError when there is no such partner, or a place or threshold is not allowed
 */
export async function previewEndpoint(
  { db, clock }: { readonly db: Queryable; readonly clock: () => number },
  scope: EndpointScope,
  { events, places, thresholds = [], max_per_hour: most = null }: PreviewedSettings,
): Promise<Preview> {
  const { systemId } = scope;
  await requirePartner({ db }, scope);
  if (places !== null) await requireKnownPlaces(db, systemId, places);
  await requireFewThresholds(db, systemId, thresholds);
  const until = new Date(clock());
  const since = new Date(until.getTime() - DAY_MS);
  const chosen = expandEvents(events);
  // The chosen events that thresholds cause, and all other chosen ones.
  const [crossed, others] = [true, false].map((is) => chosen.filter((name) => THRESHOLD_EVENTS.includes(name) === is));
  const wanted = { ...placeColumns(places), events: others ?? [] };
  const { looked, counts } = await countPastEvents(db, scope, wanted, { since, limit: MAX_PREVIEWED });
  const past = await pastCrossings(db, systemId, thresholds, { since, until, limit: MAX_PREVIEWED });
  const told = past.events
    .filter(({ name }) => crossed?.includes(name))
    .map(({ name, at }): HourCount => ({ event: name, hour: new Date(at - (at % HOUR_MS)), deliveries: 1 }));
  const all = [...counts, ...told];
  // In each hour, the deliveries above the hourly limit are skipped.
  const skipped =
    most === null
      ? 0
      : sumOf(
          all,
          ({ hour }) => hour.getTime(),
          (n) => Math.max(0, n - most),
        );
  return {
    ...{ since, until, skipped },
    deliveries:
      sumOf(
        all,
        () => 0,
        (n) => n,
      ) - skipped,
    by_event: byEvent(all),
    is_complete: looked < MAX_PREVIEWED && past.isComplete,
  };
}

/** Groups the counts, applies `of` to the total of each group, and adds up the results. */
function sumOf(counts: readonly HourCount[], groupOf: (count: HourCount) => number, of: (n: number) => number): number {
  const groups = [...Map.groupBy(counts, groupOf).values()];
  return groups.reduce((sum, group) => sum + of(total(group)), 0);
}

function byEvent(counts: readonly HourCount[]): Preview["by_event"] {
  const named = [...Map.groupBy(counts, ({ event }) => event)];
  const summed = named.map(([event, group]) => ({ event, deliveries: total(group) }));
  return summed.toSorted((one, other) => other.deliveries - one.deliveries || (one.event < other.event ? -1 : 1));
}

function total(counts: readonly HourCount[]): number {
  return counts.reduce((sum, { deliveries }) => sum + deliveries, 0);
}
