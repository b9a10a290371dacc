import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { bikeListQuery } from "./bikes.ts";
import { eventListQuery } from "./events.ts";
import { MAX_PAGE_SIZE } from "./limits.ts";
import { regionListQuery } from "./regions.ts";
import { reservationListQuery } from "./reservations.ts";
import { rideListQuery } from "./rides.ts";
import { stationListQuery } from "./stations.ts";
import { vehicleTypeListQuery } from "./vehicle-types.ts";

fc.configureGlobal({ seed: 1 });

const queries = {
  stations: stationListQuery,
  rides: rideListQuery,
  bikes: bikeListQuery,
  reservations: reservationListQuery,
  events: eventListQuery,
  vehicleTypes: vehicleTypeListQuery,
  regions: regionListQuery,
};
const changing = { stations: stationListQuery, rides: rideListQuery, bikes: bikeListQuery };

describe.each(Object.entries(queries))(
  "the query of the %s list",
  (_name, query: z.ZodObject<z.ZodRawShape, "strict">) => {
    test("takes whole numbers from 1 as limit, and counts those above the maximum as the maximum", () => {
      const wholeNumbers = fc.oneof(
        fc.integer({ min: 1, max: 2 * MAX_PAGE_SIZE }),
        fc.bigInt({ min: 1n, max: 10n ** 400n }),
      );
      fc.assert(
        fc.property(wholeNumbers, fc.nat({ max: 3 }), (number, zeros) => {
          const limit = "0".repeat(zeros) + String(number);
          expect(query.parse({ limit })).toEqual({ limit: number > MAX_PAGE_SIZE ? MAX_PAGE_SIZE : Number(number) });
        }),
      );
    });

    test("takes whole numbers from 1 as page, as they are", () => {
      fc.assert(
        fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (page) => {
          expect(query.parse({ page: String(page) })).toEqual({ page });
        }),
      );
    });

    test("refuses anything else as limit or page and says what it must be", () => {
      const notWhole = fc.oneof(
        fc.constantFrom(
          "",
          "0",
          "000",
          "-1",
          "+1",
          "1.0",
          "1e3",
          "0x10",
          " 1",
          "1 ",
          "1\n",
          "NaN",
          "Infinity",
          "١",
          "null",
        ),
        fc.double({ noNaN: true }).map(String),
        fc.string(),
      );
      fc.assert(
        fc.property(
          notWhole.filter((text) => !/^[0-9]*[1-9][0-9]*$/.test(text)),
          fc.constantFrom("limit", "page"),
          (text, name) => {
            expect(issues(query, { [name]: text })).toEqual([`${name}: must be an integer, 1 or more`]);
          },
        ),
      );
    });

    test("refuses a parameter that is given twice, whichever it is, and says so", () => {
      const names = Object.keys(query.shape);
      expect(names).toEqual(expect.arrayContaining(["page", "limit", "cursor"]));
      for (const name of names) {
        expect(issues(query, { [name]: ["1", "1"] }), name).toEqual([`${name}: must be given once`]);
      }
    });

    test("refuses a parameter it does not know, by name", () => {
      fc.assert(
        fc.property(
          fc.string({ minLength: 1 }).filter((name) => !(name in query.shape) && name !== "__proto__"),
          (name) => {
            const [issue] = query.safeParse({ [name]: "1" }).error?.issues ?? [];
            expect(issue).toMatchObject({ code: "unrecognized_keys", keys: [name] });
          },
        ),
      );
    });
  },
);

test.each(Object.entries(changing))(
  "the query of the %s list takes an instant with Z or an offset as updated_since, and nothing vaguer",
  (_name, query) => {
    for (const instant of ["2026-01-31T08:00:00Z", "2026-01-31T08:00:00.123Z", "2026-01-31T08:00:00+05:30"]) {
      expect(issues(query, { updated_since: instant }), instant).toEqual([]);
    }
    for (const text of [
      "",
      "yesterday",
      "2026-01-31",
      "2026-01-31T08:00:00",
      "2026-01-31T08:00Z",
      "1769846400",
      "2026-02-30T08:00:00Z",
      "2026-01-31T08:00:00+0530",
      "2026-01-31T08:00:00+24:00",
      "2026-01-31T08:00:00+16:00",
      "0000-01-01T00:00:00Z",
      "2026-01-31T08:00:00-05:60",
      "2026-01-31T08:00:00Z\n",
    ]) {
      expect(issues(query, { updated_since: text }), JSON.stringify(text)).toEqual([
        expect.stringMatching(/^updated_since: must be an RFC 3339 instant/),
      ]);
    }
  },
);

describe.each(Object.entries({ stations: stationListQuery, bikes: bikeListQuery }))(
  "the bbox of the %s list",
  (_name, query: typeof stationListQuery | typeof bikeListQuery) => {
    test("takes four numbers of degrees, also across the antimeridian", () => {
      const degrees = (bound: number) => fc.integer({ min: -bound * 1000, max: bound * 1000 }).map((n) => n / 1000);
      const plain = (n: number) => (n === 0 ? "0" : String(n));
      fc.assert(
        fc.property(degrees(180), degrees(90), degrees(180), degrees(90), (west, a, east, b) => {
          const [south, north] = [Math.min(a, b), Math.max(a, b)];
          const { bbox } = query.parse({ bbox: [west, south, east, north].map(plain).join(",") });
          expect(bbox).toEqual({ west: west + 0, south: south + 0, east: east + 0, north: north + 0 });
        }),
      );
    });

    test("refuses anything else, and names the number that is wrong and its bound", () => {
      for (const bbox of ["", "1,2,3", "1,2,3,4,5", "a,b,c,d", "1,2,3,", "1e1,2,3,4", "NaN,0,0,0"]) {
        expect(issues(query, { bbox }), bbox).toEqual([
          "bbox: must be four numbers, min_lon,min_lat,max_lon,max_lat, in WGS 84 degrees",
        ]);
      }
      const wrong = {
        "181,0,182,1": "a min_lon between -180 and 180, not 181",
        "0,-91,1,1": "a min_lat between -90 and 90, not -91",
        "0,0,-180.5,1": "a max_lon between -180 and 180, not -180.5",
        "0,0,1,90.01": "a max_lat between -90 and 90, not 90.01",
        "1,4,3,2": "a min_lat that is not above its max_lat: 4 is above 2",
      };
      for (const [bbox, message] of Object.entries(wrong))
        expect(issues(query, { bbox })).toEqual([`bbox: must have ${message}`]);
    });
  },
);

/** Returns the issues of a query's schema with `input`, each as `name: message`. */
function issues(query: z.ZodTypeAny, input: Record<string, unknown>): string[] {
  return (query.safeParse(input).error?.issues ?? []).map((issue) => `${issue.path.join(".")}: ${issue.message}`);
}
