import { initClient } from "@ts-rest/core";
import fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import type { z } from "zod";
import { idempotencyHeaders } from "./idempotency.ts";
import { MAX_HOLD_MINUTES, MAX_IDEMPOTENCY_KEY_LENGTH, MAX_IDENTIFIER_LENGTH, MAX_RIDER_REF_LENGTH } from "./limits.ts";
import * as items from "./openapi/examples.ts";
import { bikeReport, bikeUpsert, pastRide, rideEnd, rideStart, stationUpsert } from "./operator-items.ts";
import { partnerContract } from "./partner.ts";
import { reservationRequest } from "./reservations.ts";
import { givenIdentifier } from "./values.ts";

fc.configureGlobal({ seed: 1 });

const CONTROLS = [
  "\0",
  "\t",
  "\n",
  "\r",
  "\u001b",
  "\u007f",
  "\u0085",
  "\u2028",
  "\u200b",
  "\ufeff",
  "\u202e",
  "\ud800",
];
const visible = fc.string({
  unit: fc.constantFrom("a", "Z", "0", "-", "_", ".", ":", "/", "é", "京", "😀"),
  minLength: 1,
  maxLength: 100,
});

describe("an identifier in a body", () => {
  test("may be any visible characters of any script, with plain spaces between them", () => {
    fc.assert(
      fc.property(visible, visible, (start, end) => {
        fc.pre(start !== "." && start !== "..");
        expect(issues(givenIdentifier, start)).toEqual([]);
        expect(issues(givenIdentifier, `${start} ${end}`)).toEqual([]);
      }),
    );
  });

  test("holds no control, invisible or broken character, wherever it stands", () => {
    fc.assert(
      fc.property(fc.constantFrom(...CONTROLS), fc.string(), fc.string(), (control, before, after) => {
        const text = before.slice(0, 50) + control + after.slice(0, 50);
        expect(issues(givenIdentifier, text)).toEqual([
          ": must be visible characters, without control characters or spaces at the ends",
        ]);
      }),
    );
  });

  test("is something that a path can name: neither . nor .., whatever else has dots", () => {
    for (const id of [".", ".."]) {
      expect(issues(givenIdentifier, id)).toEqual([": must not be . or .., which no path can name"]);
    }
    for (const id of ["...", ".a", "a..", "%2e%2e"]) {
      expect(issues(givenIdentifier, id)).toEqual([]);
      expect(new URL(`https://a/v1/stations/${encodeURIComponent(id)}`).pathname).toMatch(/^\/v1\/stations\/./);
    }
  });

  test("neither begins nor ends with a space", () => {
    fc.assert(
      fc.property(visible, fc.constantFrom(" ", "  ", "\u00a0", "\u3000"), (text, space) => {
        for (const spaced of [space + text, text + space]) expect(issues(givenIdentifier, spaced)).toHaveLength(1);
      }),
    );
    expect(issues(givenIdentifier, " ")).toHaveLength(1);
  });

  test("has 1 to the most characters", () => {
    expect(issues(givenIdentifier, "")).toEqual([": must not be empty"]);
    expect(issues(givenIdentifier, "x".repeat(MAX_IDENTIFIER_LENGTH))).toEqual([]);
    expect(issues(givenIdentifier, "x".repeat(MAX_IDENTIFIER_LENGTH + 1))).toEqual([
      `: must have at most ${MAX_IDENTIFIER_LENGTH} characters`,
    ]);
  });
});

describe("an Idempotency-Key", () => {
  const read = (key: unknown) => issues(idempotencyHeaders, { "idempotency-key": key, host: "bikes.example" });
  const issue = "idempotency-key: must be 1 to 255 visible ASCII characters, without spaces";

  test("may be absent, or 1 to the most visible ASCII characters", () => {
    expect(issues(idempotencyHeaders, {})).toEqual([]);
    const character = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
    fc.assert(
      fc.property(fc.string({ unit: character, minLength: 1, maxLength: MAX_IDEMPOTENCY_KEY_LENGTH }), (key) => {
        expect(read(key)).toEqual([]);
      }),
    );
  });

  test("is refused, with its issue, when it is empty, too long, sent twice or not visible ASCII", () => {
    const repeated = "x".repeat(MAX_IDEMPOTENCY_KEY_LENGTH + 1);
    for (const key of ["", " ", "a b", "first, second", "é", "a\n", ...CONTROLS, repeated]) {
      expect(read(key), JSON.stringify(key)).toEqual([issue]);
    }
  });

  test("is optional for a typed client", () => {
    const client = initClient(partnerContract, { baseUrl: "https://bikes.example" });
    type Create = Parameters<typeof client.reservations.create>[0];
    expectTypeOf<{ body: { station_id: string } }>().toExtend<Create>();
    expectTypeOf<{ body: { station_id: string }; headers: { "idempotency-key": string } }>().toExtend<Create>();
  });
});

describe("a request to reserve", () => {
  test("names a station or a bike, exactly one of the two", () => {
    expect(issues(reservationRequest, { station_id: "a" })).toEqual([]);
    expect(issues(reservationRequest, { bike_id: "a" })).toEqual([]);
    expect(issues(reservationRequest, {})).toEqual(["station_id: or bike_id must be given"]);
    expect(issues(reservationRequest, { station_id: "a", bike_id: "b" })).toEqual([
      "station_id: and bike_id exclude each other: give one of them",
    ]);
  });

  test("holds for a whole number of minutes within the bounds", () => {
    const wrong = fc.oneof(fc.integer({ max: 0 }), fc.integer({ min: MAX_HOLD_MINUTES + 1 }), fc.constant(1.5));
    fc.assert(
      fc.property(fc.integer({ min: 1, max: MAX_HOLD_MINUTES }), wrong, (minutes, other) => {
        expect(issues(reservationRequest, { bike_id: "b", hold_minutes: minutes })).toEqual([]);
        expect(issues(reservationRequest, { bike_id: "b", hold_minutes: other })).toHaveLength(1);
      }),
    );
    expect(issues(reservationRequest, { bike_id: "b", hold_minutes: "15" })).toHaveLength(1);
  });

  test("marks its rider with 1 to the most visible ASCII characters", () => {
    const request = (riderRef: string) => issues(reservationRequest, { bike_id: "b", rider_ref: riderRef });
    expect(request("r".repeat(MAX_RIDER_REF_LENGTH))).toEqual([]);
    for (const mark of ["", "a b", "é", "\0", "r".repeat(MAX_RIDER_REF_LENGTH + 1)]) {
      expect(request(mark), JSON.stringify(mark)).toHaveLength(1);
    }
  });

  test("refuses a field it does not know", () => {
    expect(reservationRequest.safeParse({ bike_id: "b", email: "x@y.example" }).error?.issues).toEqual([
      expect.objectContaining({ code: "unrecognized_keys", keys: ["email"] }),
    ]);
  });
});

describe("an item of the operator", () => {
  test.each([
    { name: "stationUpsert", schema: stationUpsert, item: { id: "s" } },
    { name: "bikeUpsert", schema: bikeUpsert, item: { id: "b" } },
    { name: "bikeReport", schema: bikeReport, item: { id: "b", at: "2026-03-14T08:20:26Z" } },
    { name: "rideEnd", schema: rideEnd, item: { id: "r" } },
  ])("$name has a whole position or none", ({ schema, item }) => {
    expect(issues(schema, item)).toEqual([]);
    expect(issues(schema, { ...item, lat: 1, lon: 2 })).toEqual([]);
    expect(issues(schema, { ...item, lat: 1 })).toEqual(["lon: must be given with lat"]);
    expect(issues(schema, { ...item, lon: 2 })).toEqual(["lat: must be given with lon"]);
    expect(issues(schema, { ...item, lat: 91, lon: 181 })).toHaveLength(2);
  });

  test("a past ride does not end before it started, whatever the offsets", () => {
    const ride = { ...items.pastRide, started_at: "2026-03-29T01:30:00+01:00" };
    expect(issues(pastRide, { ...ride, ended_at: "2026-03-29T00:30:00Z" })).toEqual([]);
    expect(issues(pastRide, { ...ride, ended_at: "2026-03-29T02:29:59+02:00" })).toEqual([
      "ended_at: must not be before started_at",
    ]);
  });

  test("a bike cannot be put on a trip or into a reservation by hand", () => {
    for (const state of ["on_trip", "reserved"]) {
      expect(issues(bikeUpsert, { id: "b", vehicle_state: state }), state).toHaveLength(1);
      expect(issues(bikeReport, { ...items.bikeReport, vehicle_state: state }), state).toHaveLength(1);
    }
  });

  test("a name is one line of text without control characters, and may be of any script", () => {
    for (const name of ["City Hall", "Praça d'Espanha — 1º", "東京駅", "نیم‌فاصله"]) {
      expect(issues(stationUpsert, { id: "s", name }), name).toEqual([]);
    }
    for (const name of ["", " ", " a", "a\n", "a\0b", "\ud800", "x".repeat(256)]) {
      expect(issues(stationUpsert, { id: "s", name }), JSON.stringify(name)).toHaveLength(1);
    }
  });

  test("an instant has Z or a real offset", () => {
    for (const instant of ["2026-01-31T08:00:00Z", "2026-01-31T08:00:00.123456-11:30"]) {
      expect(issues(rideStart, { ...items.rideStart, started_at: instant }), instant).toEqual([]);
    }
    for (const text of ["", "now", "2026-01-31T08:00:00", "2026-01-31T08:00:00+99:99", "2026-02-29T08:00:00Z"]) {
      expect(issues(rideStart, { ...items.rideStart, started_at: text }), text).toHaveLength(1);
    }
  });

  test("no item takes who rode", () => {
    for (const field of ["user_id", "email", "birth_year", "gender", "name"]) {
      expect(rideStart.safeParse({ ...items.rideStart, [field]: "x" }).success, field).toBe(false);
    }
  });
});

/** Returns the issues of a schema with `input`, each as `name: message`. */
function issues(schema: z.ZodTypeAny, input: unknown): string[] {
  return (schema.safeParse(input).error?.issues ?? []).map((issue) => `${issue.path.join(".")}: ${issue.message}`);
}
