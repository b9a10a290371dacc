import type { EventRecord } from "@bikeshare/contract";
import type { Findings } from "./findings.ts";
import type { Item } from "./lists.ts";

/*
 * Checks of a partner's list of events after a workload, for verify.ts. Events are given in the list's order, oldest first.
 */

/** The event of each resource's beginning. */
const BEGINNINGS: Readonly<Record<string, string>> = { ride: "ride.started", reservation: "reservation.created" };

/**
 * Expects exactly one event for the beginning of each resource, then one for its end if it has ended, and no events of
 * other resources.
 * @param shown the resources in lists, with their status
 */
export function checkLifeEvents(
  noun: "ride" | "reservation",
  events: readonly EventRecord[],
  shown: readonly Item[],
  { expect }: Findings,
): void {
  const namesById = new Map<string, string[]>();
  for (const { event, data } of events) {
    if (!event.startsWith(`${noun}.`)) continue;
    const names = namesById.get(data.id) ?? [];
    names.push(event);
    namesById.set(data.id, names);
  }
  for (const resource of shown) {
    const id = String(resource["id"]);
    const status = String(resource["status"]);
    const names = namesById.get(id) ?? [];
    namesById.delete(id);
    const isOver = status !== "started" && status !== "active";
    const wanted = isOver ? [BEGINNINGS[noun], `${noun}.${status}`] : [BEGINNINGS[noun]];
    expect(names.join() === wanted.join(), () => `${noun} ${id} is ${status}; its events: ${names.join(", ")}`);
  }
  for (const [id, names] of namesById) {
    expect(false, () => `events of ${noun} ${id}, which no list shows: ${names.join(", ")}`);
  }
}

/** Expects each event once in a walk of the list, and as many events as the list's total. */
export function checkWalk(events: readonly EventRecord[], total: number, { expect }: Findings): void {
  expect(new Set(events.map(({ id }) => id)).size === events.length, () => "the walk of events repeats some");
  expect(events.length === total, () => `the walk found ${events.length} events, the list says ${total}`);
}

/** Expects offline and online to alternate for each station. */
export function checkStationEdges(events: readonly EventRecord[], { expect }: Findings): void {
  const lastEvents = new Map<string, string>();
  for (const { event, data } of events) {
    if (!event.startsWith("station.")) continue;
    expect(lastEvents.get(data.id) !== event, () => `station ${data.id}: ${event} twice in a row`);
    lastEvents.set(data.id, event);
  }
}
