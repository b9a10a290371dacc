import type { EventRecord } from "@bikeshare/contract";
import type { Findings } from "./findings.ts";
import type { Item } from "./lists.ts";

const BEGINNINGS: Readonly<Record<string, string>> = { ride: "ride.started", reservation: "reservation.created" };

/**
 * Of each resource exactly one event tells its beginning and one its end, if it has ended, in this order; and no event
 * tells of another resource.
 * @param shown the resources as lists show them, with the status that they have there
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

/** No event comes twice, and the walk found as many as the list says that it has. */
export function checkWalk(events: readonly EventRecord[], total: number, { expect }: Findings): void {
  expect(new Set(events.map(({ id }) => id)).size === events.length, () => "the walk of events repeats some");
  expect(events.length === total, () => `the walk found ${events.length} events, the list says ${total}`);
}

/** Station edges: offline and online take turns. */
export function checkStationEdges(events: readonly EventRecord[], { expect }: Findings): void {
  const last = new Map<string, string>();
  for (const { event, data } of events) {
    if (!event.startsWith("station.")) continue;
    expect(last.get(data.id) !== event, () => `station ${data.id}: ${event} twice in a row`);
    last.set(data.id, event);
  }
}
