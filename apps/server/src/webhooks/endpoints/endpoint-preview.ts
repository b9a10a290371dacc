import type { Threshold } from "@bikeshare/contract";
import type { Queryable } from "../../storage/db/database.ts";
import { type EndpointScope, expandEvents, requirePartner } from "./endpoint-context.ts";
import { placeColumns, type Places, requireKnownPlaces } from "./endpoint-places.ts";
import { countPastEvents, type HourCount } from "./endpoint-queries.ts";
import { pastCrossings, requireAllowedThresholds, THRESHOLD_EVENTS } from "./endpoint-thresholds.ts";

/** The deliveries that an endpoint would have received in the last 24 hours. */
export interface Preview {
  readonly since: Date;
  readonly until: Date;
  /** Without the skipped ones. */
  readonly deliveries: number;
  /** Deliveries above `max_per_hour`. */
  readonly skipped: number;
  /** With the skipped ones. */
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
  await requireAllowedThresholds(db, systemId, thresholds);
  const until = new Date(clock());
  const since = new Date(until.getTime() - DAY_MS);
  const chosen = expandEvents(events);
  // Events of thresholds are not looked up: the thresholds may not have been set yet. They are computed from the history.
  const wanted = { ...placeColumns(places), events: chosen.filter((name) => !THRESHOLD_EVENTS.includes(name)) };
  const { looked, counts } = await countPastEvents(db, scope, wanted, { since, limit: MAX_PREVIEWED });
  const past = await pastCrossings(db, systemId, thresholds, { since, until, limit: MAX_PREVIEWED });
  const crossings = past.events
    .filter(({ name }) => chosen.includes(name))
    .map(({ name, at }): HourCount => ({ event: name, hour: new Date(at - (at % HOUR_MS)), deliveries: 1 }));
  const all = [...counts, ...crossings];
  const skipped = most === null ? 0 : countAbove(most, all);
  return {
    since,
    until,
    skipped,
    deliveries: total(all) - skipped,
    by_event: byEvent(all),
    is_complete: looked < MAX_PREVIEWED && past.isComplete,
  };
}

/** Counts the deliveries that an hourly limit skips: in each hour, those above it. */
function countAbove(limit: number, counts: readonly HourCount[]): number {
  const hours = [...Map.groupBy(counts, ({ hour }) => hour.getTime()).values()];
  return hours.reduce((sum, hour) => sum + Math.max(0, total(hour) - limit), 0);
}

/** Adds up the deliveries of each event, the most frequent first. */
function byEvent(counts: readonly HourCount[]): Preview["by_event"] {
  const named = [...Map.groupBy(counts, ({ event }) => event)];
  const summed = named.map(([event, group]) => ({ event, deliveries: total(group) }));
  return summed.toSorted((one, other) => other.deliveries - one.deliveries || (one.event < other.event ? -1 : 1));
}

function total(counts: readonly HourCount[]): number {
  return counts.reduce((sum, { deliveries }) => sum + deliveries, 0);
}
