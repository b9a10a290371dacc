import { type EventName, eventNames } from "@bikeshare/contract";
import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type EventsHarness,
  everything,
  numbersOn,
  openEventsHarness,
  type Page,
  pageOf,
  placedEvents,
} from "../../test/events/events.harness.ts";
import { BEFORE_ALL, type EventPosition, type EventViewer, viewerWith } from "./event.rules.ts";
import type { NewEvent } from "./outbox.ts";
import { getEvent } from "./service.ts";

let harness: EventsHarness;
/** The events that were written, in the order of the events list. */
const written: NewEvent[] = [];
const partners = [null, "partner-1", "partner-2"] as const;

beforeAll(async () => {
  harness = await openEventsHarness();
  let n = 0;
  // Writes events on four of five days. Each day has events of every name, for each partner and for all partners.
  for (const day of [0, 1, 3, 4]) {
    const events = Array.from({ length: 2 }, () => eventNames)
      .flat()
      .flatMap((name) => partners.map((partnerId) => ({ name, partnerId })));
    const ofDay = events.map(({ name, partnerId }, i) => ({
      name,
      partnerId: name.startsWith("reservation.") ? (partnerId ?? "partner-1") : null,
      occurredAt: new Date(harness.clock() + i),
      data: `{"n":${n++}}`,
    }));
    await harness.write(ofDay);
    await harness.sequencer.runOnce(harness.systemId);
    written.push(...ofDay);
    harness.clock.advance((day === 1 ? 2 : 1) * 24 * 3_600_000);
  }
});
afterAll(() => harness.close());

/** Returns the numbers of the written events that a viewer may see, computed without the database. */
function seenBy(viewer: EventViewer, name?: EventName): number[] {
  return written.flatMap((event, i) => {
    const mine = event.partnerId === null || event.partnerId === viewer.partnerId;
    return mine && viewer.names.includes(event.name) && (name ?? event.name) === event.name ? [i] : [];
  });
}

const viewers = fc
  .record({
    partnerId: fc.constantFrom("partner-1", "partner-2", "partner-3"),
    scopes: fc.subarray(["rides:read", "stations:read", "reservations:read", "bikes:read"]),
  })
  .map(({ partnerId, scopes }) => viewerWith(partnerId, scopes));
const names = fc.option(fc.constantFrom(...eventNames), { nil: undefined });
/** The index of the visible event after which the list begins; undefined: it begins with the first event. */
const starts = fc.option(fc.nat(300), { nil: undefined });
const limits = fc.integer({ min: 1, max: 200 });

/** Returns the id of a visible event, and the numbers of the events that must follow it in the list. */
async function startBehind(viewer: EventViewer, start: number | undefined, name: EventName | undefined) {
  const visible = seenBy(viewer);
  if (start === undefined || visible.length === 0) return { after: undefined, expected: seenBy(viewer, name) };
  const number = visible[start % visible.length] ?? 0;
  const placed = await placedEvents(harness);
  return { after: placed[number]?.id, expected: seenBy(viewer, name).filter((n) => n > number) };
}

describe("the list of events", () => {
  it("shows by page, each once and oldest first, what the partner may see with the scopes of the key; the total is exact", async () => {
    await fc.assert(
      fc.asyncProperty(viewers, names, starts, limits, async (viewer, event, start, limit) => {
        const { after, expected } = await startBehind(viewer, start, event);
        const seen: (number | undefined)[] = [];
        for (let page = 1; page <= Math.max(1, Math.ceil(expected.length / limit)); page++) {
          const shown = await pageOf(harness, { kind: "page", page, limit }, { event, after }, viewer);
          expect(shown.total).toBe(expected.length);
          seen.push(...numbersOn(shown));
        }
        expect(seen).toEqual(expected);
      }),
      { numRuns: randomRuns(25) },
    );
  });

  it("shows by cursor, each once and oldest first, what the partner may see with the scopes of the key", async () => {
    await fc.assert(
      fc.asyncProperty(viewers, names, starts, limits, async (viewer, event, start, limit) => {
        const { after, expected } = await startBehind(viewer, start, event);
        let page: Page = await pageOf(harness, { kind: "first", limit }, { event, after }, viewer);
        expect(page.total).toBe(expected.length);
        const seen = numbersOn(page);
        for (let next: EventPosition | undefined = page.next; next !== undefined; next = page.next) {
          page = await pageOf(harness, { kind: "cursor", after: next, limit }, { event, after }, viewer);
          expect(page.total).toBeUndefined();
          seen.push(...numbersOn(page));
        }
        expect(seen).toEqual(expected);
      }),
      { numRuns: randomRuns(25) },
    );
  });

  it("shows each as id, event, occurred_at and data, with the data's bytes untouched", async () => {
    const data = String.raw`{"name":"Zürich \"HB\"\n","lat":47.10}`;
    await harness.write([{ name: "station.offline", occurredAt: new Date("2026-06-01T08:00:00.070Z"), data }]);
    await harness.sequencer.runOnce(harness.systemId);
    const { id } = (await placedEvents(harness)).at(-1) ?? { id: "" };
    const json = `{"id":"${id}","event":"station.offline","occurred_at":"2026-06-01T08:00:00.070Z","data":${data}}`;
    expect(await getEvent(harness.read, harness.systemId, everything, id)).toBe(json);
    written.push({ name: "station.offline", occurredAt: new Date(0), partnerId: null, data });
  });

  it("is empty past its end and where nothing is to be seen", async () => {
    expect(await pageOf(harness, { kind: "page", page: 1000, limit: 200 })).toMatchObject({
      data: [],
      next: undefined,
    });
    const none = viewerWith("partner-1", ["events:read"]);
    expect(await pageOf(harness, { kind: "first", limit: 50 }, {}, none)).toEqual({
      data: [],
      next: undefined,
      total: 0,
    });
    expect(await pageOf(harness, { kind: "cursor", after: BEFORE_ALL, limit: 50 }, {}, none)).toMatchObject({
      data: [],
      next: undefined,
    });
  });

  it("does not show an event before it has its place, neither in the list nor by id", async () => {
    const { total } = await pageOf(harness, { kind: "first", limit: 1 });
    await harness.write([{}]);
    expect((await pageOf(harness, { kind: "first", limit: 1 })).total).toBe(total);
    await harness.sequencer.runOnce(harness.systemId);
    expect((await pageOf(harness, { kind: "first", limit: 1 })).total).toBe((total ?? 0) + 1);
    written.push({ name: "ride.started", occurredAt: new Date(0), partnerId: null, data: "{}" });
  });

  it("refuses an id after which to begin that is unknown, or of an event that is not to be seen", async () => {
    const placed = await placedEvents(harness);
    const foreign = placed.find((event) => event.partner_id === "partner-2")?.id;
    for (const after of ["event_unknown", foreign]) {
      await expect(pageOf(harness, { kind: "first", limit: 1 }, { after })).rejects.toMatchObject({
        code: "checkpoint_lost",
      });
    }
  });
});

describe("one event", () => {
  it("is found by those who may see it in the list, and by nobody else", async () => {
    const placed = await placedEvents(harness);
    for (const viewer of [everything, viewerWith("partner-2", ["reservations:read"]), viewerWith("partner-1", [])]) {
      const visible = new Set(seenBy(viewer));
      for (const [n, { id }] of placed.slice(0, 60).entries()) {
        const found = await getEvent(harness.read, harness.systemId, viewer, id);
        expect(found !== undefined, `${id} by ${viewer.partnerId}`).toBe(visible.has(n));
      }
    }
    expect(await getEvent(harness.read, harness.systemId, everything, "event_unknown")).toBeUndefined();
    expect(await getEvent(harness.read, "other", everything, placed[0]?.id ?? "")).toBeUndefined();
  });
});
