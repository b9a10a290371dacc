import type { Command } from "../../command-context.ts";
import { type NewEvent, type NewNotice, recordEvents } from "../../events/outbox.ts";
import type { Ids } from "../../ids.ts";
import { TransactionConflict } from "../../storage/db/errors.ts";
import { countRides, countRows, pickSlot } from "../counts/service.ts";
import { type BikeState, newPublicId } from "./bike.rules.ts";
import { type CounterShift, lockCountedStations, updateCountersBy, updateCounters } from "./command-queries.ts";

/** What a command has done so far, and what is to be written at its end. */
export interface Effects {
  /** The bikes as they were locked. */
  readonly held: Map<string, BikeState>;
  readonly bikes: Map<string, BikeState>;
  /** Stations whose bikes were changed. */
  readonly stationIds: Set<string>;
  /** Stations to which bikes came. */
  readonly arrivals: Set<string>;
  readonly shifts: CounterShift[];
  readonly events: (NewEvent | NewNotice)[];
  readonly channels: Set<"bikes" | "stations">;
  readonly counts: { bikes: number; stations: number; readonly rideStarts: Date[]; readonly correctedStarts: Date[] };
  /** How far in `LOCK_ORDER` the command has locked. */
  locked: number;
}

export function noEffects(): Effects {
  return {
    held: new Map(),
    bikes: new Map(),
    stationIds: new Set(),
    arrivals: new Set(),
    shifts: [],
    events: [],
    channels: new Set(),
    counts: { bikes: 0, stations: 0, rideStarts: [], correctedStarts: [] },
    locked: 0,
  };
}

/**
 * Writes the counters of stations: those that are counted equal their bikes, those that mirror a feed are shifted.
 * @returns whether there were any
 * @throws TransactionConflict when a bike came to a station that is removed
 */
export async function writeCounters(
  { tx, systemId, now }: Command,
  stationIds: readonly string[],
  shifts: readonly CounterShift[],
  arrivals: ReadonlySet<string>,
): Promise<boolean> {
  const shiftedIds = [...new Set(shifts.map(({ stationId }) => stationId))];
  const { operated, mirrored, removed } = await lockCountedStations(tx, systemId, stationIds, shiftedIds);
  // It was removed after the command had looked it up: look again.
  if (removed.some((id) => arrivals.has(id))) throw new TransactionConflict();
  if (operated.length > 0) updateCounters(tx, systemId, now, operated);
  const mirroredShifts = shifts.filter(({ stationId }) => mirrored.has(stationId));
  if (mirroredShifts.length > 0) updateCountersBy(tx, systemId, now, mirroredShifts);
  return operated.length + mirroredShifts.length > 0;
}

/** Writes events and notices, notifies listeners, and last changes the counts. */
export function writeEffects(command: Command, { events, channels, counts }: Effects): void {
  const { tx, systemId, ids } = command;
  recordEvents(tx, command, events);
  for (const channel of channels) tx.notify(channel, systemId);
  const { rideStarts, correctedStarts } = counts;
  if (counts.bikes === 0 && counts.stations === 0 && rideStarts.length + correctedStarts.length === 0) return;
  const slot = pickSlot(() => ids.random());
  countRows(tx, systemId, "bikes", slot, counts.bikes);
  countRides(tx, systemId, slot, { inserted: rideStarts, corrected: correctedStarts });
  countRows(tx, systemId, "stations", slot, counts.stations);
}

/** A bike as it was locked, and as the command leaves it. */
interface ChangedBike {
  readonly before: BikeState;
  readonly after: BikeState;
}

/** The bikes that a command has changed. */
export function changedBikes({ held, bikes }: Effects): ChangedBike[] {
  return [...held].flatMap(([id, before]) => {
    const after = bikes.get(id);
    return after === undefined || after === before ? [] : [{ before, after }];
  });
}

/** A changed bike with a public id: a new one after a ride, so that nobody recognises the bike by it. */
export function withPublicId({ before, after }: ChangedBike, ids: Ids): BikeState {
  const isBack = before.ride_id !== null && after.ride_id === null;
  const publicId = isBack || before.public_id === null ? newPublicId(ids) : before.public_id;
  return { ...after, public_id: publicId };
}
