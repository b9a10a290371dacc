import { deliveryNames, type DeliveryName, type NoticeName } from "@bikeshare/contract";
import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type EndpointsHarness, openEndpointsHarness } from "../../../test/webhooks/endpoints.harness.ts";
import { recordEvents } from "../../events/outbox.ts";
import { createSequencer } from "../../events/sequencer.ts";
import type { Places } from "./endpoint-places.ts";
import { previewEndpoint } from "./endpoint-preview.ts";
import { addEndpoint, setEndpoint } from "./endpoint-settings.ts";
import { THRESHOLD_EVENTS } from "./endpoint-thresholds.ts";
import { showEndpoint } from "./endpoint-view.ts";

let harness: EndpointsHarness;
let endpointIds: readonly string[];
beforeAll(async () => {
  harness = await openEndpointsHarness();
  await harness.rows("insert into regions (system_id, id, name) values ($1, 'north', 'North'), ($1, 'south', 'South')");
  for (const { id, lat, lon, region } of stations)
    await harness.rows(
      `insert into stations (system_id, id, name, lat, lon, region_id, is_installed, is_renting, is_returning, status,
         updated_at, source, counters)
       values ($1, $2, $2, $3, $4, $5, true, true, true, 'online', now(), 'operator', 'operated')`,
      id,
      lat,
      lon,
      region,
    );
  const other = await harness.partner("Partner 2");
  const url = "https://partner.example/hooks";
  const made = [harness.partnerId, harness.partnerId, other, other].map((partnerId, n) =>
    addEndpoint(harness, { systemId: harness.systemId, partnerId, name: `E${n}`, url, events: ["ride.started"] }),
  );
  endpointIds = (await Promise.all(made)).map(({ endpoint }) => endpoint.id);
});
afterAll(() => harness.close());

/** Stations on both sides of the antimeridian, so that boxes cross it. */
const stations = [
  { id: "a", lat: 1, lon: 179, region: "north" },
  { id: "b", lat: 2, lon: -179, region: "north" },
  { id: "c", lat: 3, lon: 170, region: "south" },
  { id: "d", lat: -4, lon: 10, region: null },
] as const;
type Station = (typeof stations)[number];
const stationId = fc.constantFrom(...stations.map(({ id }) => id), "gone");
const region = fc.constantFrom("north", "south");

interface Happened {
  readonly name: DeliveryName;
  readonly isOwn: boolean;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Any event, with a resource of a kind that fits the event. */
const happened: fc.Arbitrary<Happened> = fc
  .record({
    name: fc.constantFrom(...deliveryNames.filter((name) => !THRESHOLD_EVENTS.includes(name))),
    isOwn: fc.boolean(),
    at: fc.option(stationId, { nil: null }),
    to: fc.option(stationId, { nil: null }),
    ids: fc.uniqueArray(stationId, { maxLength: 2 }),
    regions: fc.uniqueArray(region, { maxLength: 1 }),
    lat: fc.constantFrom(null, -4, 2.5),
  })
  .map(({ name, isOwn, at, to, ids, regions, lat }) => ({
    name,
    isOwn,
    data: dataOf(name, { at, to, ids, regions, lat }),
  }));

interface Facts {
  readonly at: string | null;
  readonly to: string | null;
  readonly ids: readonly string[];
  readonly regions: readonly string[];
  readonly lat: number | null;
}

function dataOf(name: string, { at, to, ids, regions, lat }: Facts): Happened["data"] {
  if (name.startsWith("station.")) return { id: at ?? "gone" };
  if (name.startsWith("ride.")) return { id: "ride_1", start_station_id: at, end_station_id: to };
  if (name.startsWith("alert.")) return { id: "alert_1", station_ids: ids, region_ids: regions };
  if (name.startsWith("bike.")) return { id: "bike_1", station_id: at, lat, lon: lat === null ? null : 175 };
  return { id: "reservation_1", station_id: at };
}

const box = fc.constantFrom("170,0,-170,5", "0,-10,20,10", "-180,-90,180,90", null);
const places: fc.Arbitrary<Places | null> = fc.option(
  fc
    .record({
      station_ids: fc.uniqueArray(fc.constantFrom(...stations.map(({ id }) => id)), { maxLength: 2 }),
      region_ids: fc.uniqueArray(region, { maxLength: 2 }),
      bbox: box,
    })
    .filter(({ station_ids, region_ids, bbox }) => station_ids.length + region_ids.length > 0 || bbox !== null),
  { nil: null },
);
const chosen = fc.uniqueArray(fc.constantFrom(...deliveryNames, "ride.*", "station.*", "alert.*", "reservation.*"), {
  minLength: 1,
  maxLength: 6,
});

/** Decides whether an endpoint gets an event: the same rule as in SQL, written in TypeScript. */
function isFor(event: Happened, isOwner: boolean, names: readonly string[], where: Places | null): boolean {
  const [kind] = event.name.split(".");
  if (!names.includes(event.name) && !names.includes(`${kind}.*`)) return false;
  if (event.isOwn && kind === "reservation" && !isOwner) return false;
  if (where === null) return true;
  const { data } = event;
  const list = (value: unknown) => (Array.isArray(value) ? (value as string[]) : []);
  const ids =
    kind === "station" ? [data["id"]] : [data["start_station_id"], data["end_station_id"], data["station_id"]];
  const about = [...ids, ...list(data["station_ids"])];
  const regions = list(data["region_ids"]);
  if (kind === "alert" && about.filter((id) => id !== undefined).length + regions.length === 0) return true;
  const known = stations.filter(({ id }) => about.includes(id));
  if (where.station_ids.some((id) => about.includes(id))) return true;
  if (where.region_ids.some((id) => regions.includes(id) || known.some((each) => each.region === id))) return true;
  const own = typeof data["lat"] === "number" ? [{ lat: data["lat"], lon: 175 }] : [];
  return where.bbox !== null && [...known, ...own].some((point) => isWithin(where.bbox ?? "", point));
}

function isWithin(
  text: string,
  { lat, lon }: Pick<Station, "lat" | "lon"> | { readonly lat: number; readonly lon: number },
) {
  const [west = 0, south = 0, east = 0, north = 0] = text.split(",").map(Number);
  if (lat < south || lat > north) return false;
  return west <= east ? lon >= west && lon <= east : lon >= west || lon <= east;
}

it("whatever endpoints ask for, they are sent what filtering the history afterwards gives, and previews say as much", async () => {
  const { db, ids, systemId, partnerId, clock } = harness;
  const sequencer = createSequencer({
    db,
    clock,
    onError: (error) => expect.unreachable(String(error)),
    pollIntervalMs: 0,
  });
  const history: Happened[] = [];
  const settings = fc.array(fc.record({ events: chosen, places }), { minLength: 4, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(settings, fc.array(happened, { minLength: 1, maxLength: 25 }), async (asked, events) => {
      const owners = await Promise.all(
        endpointIds.map(async (endpointRef, n) => {
          const owner = (
            await harness.rows<{ partner_id: string }>(
              "select partner_id from webhook_endpoints where system_id = $1 and id = $2",
              endpointRef,
            )
          )[0]?.partner_id;
          const scope = { systemId, partnerId: owner ?? "", endpointRef };
          await setEndpoint(harness, { ...scope, ...asked[n] });
          return scope;
        }),
      );
      clock.advance(1);
      const now = new Date(clock());
      await db.transaction(async (tx) => {
        recordEvents(
          tx,
          { ids, systemId, now },
          events.map((event) => recorded(event, partnerId, now)),
        );
        return Promise.resolve();
      });
      history.push(...events);
      await sequencer.runOnce(systemId);
      for (const [n, scope] of owners.entries()) {
        const wanted = asked[n] ?? { events: [], places: null };
        const isHere = (event: Happened) => isFor(event, scope.partnerId === partnerId, wanted.events, wanted.places);
        const sent = await harness.rows<{ event: string }>(
          "select event from webhook_deliveries where system_id = $1 and endpoint_id = $2 and created_at = $3 order by event",
          scope.endpointRef,
          now,
        );
        expect(sent.map(({ event }) => event)).toEqual(
          events
            .filter(isHere)
            .map(({ name }) => name)
            .toSorted(),
        );
        const kept = history.filter((event) => isHere(event) && !isNotice(event.name));
        expect((await previewEndpoint(harness, scope, wanted)).deliveries).toBe(kept.length);
      }
    }),
    { numRuns: randomRuns(12) },
  );
  await sequencer.close();
});

const isNotice = (name: DeliveryName): name is NoticeName =>
  name === "station.updated" || name === "bike.state_changed";

function recorded({ name, isOwn, data }: Happened, owner: string, occurredAt: Date) {
  const event = { occurredAt, data: JSON.stringify(data) };
  if (isNotice(name)) return { ...event, name };
  return { ...event, name, partnerId: isOwn && name.startsWith("reservation.") ? owner : null };
}

it("places are few and known, patterns are of events that there are, and both are shown and taken back", async () => {
  const [endpointRef] = endpointIds;
  const scope = { systemId: harness.systemId, partnerId: harness.partnerId, endpointRef };
  const at = (more: Partial<Places>) =>
    setEndpoint(harness, { ...scope, places: { station_ids: [], region_ids: [], bbox: null, ...more } });
  await expect(at({})).rejects.toThrow(/Name a station, a region or a box/);
  await expect(at({ station_ids: ["a", "nowhere"] })).rejects.toThrow('There is no station "nowhere".');
  await expect(at({ region_ids: ["east"] })).rejects.toThrow('There is no region "east".');
  await expect(at({ bbox: "1,2,3" })).rejects.toThrow(/The box must be four numbers/);
  const many = Array.from({ length: 201 }, (_, n) => `s${n}`);
  await expect(at({ station_ids: many })).rejects.toThrow(/at most 200 stations/);
  await expect(setEndpoint(harness, { ...scope, events: ["rides.*"] })).rejects.toThrow(/no event "rides.\*"/);
  await setEndpoint(harness, { ...scope, events: ["station.offline", "ride.*"] });
  await at({ station_ids: ["b", "a", "b"], bbox: "170,0,-170,5" });
  expect(await showEndpoint(harness, scope)).toMatchObject({
    events: ["ride.*", "station.offline"],
    places: { station_ids: ["a", "b"], region_ids: [], bbox: "170,0,-170,5" },
  });
  expect(await setEndpoint(harness, { ...scope, places: null })).toMatchObject({ outcome: "changed" });
  expect((await showEndpoint(harness, scope)).places).toBeNull();
});
