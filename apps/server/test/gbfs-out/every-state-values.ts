import { formFactor, propulsionType } from "@bikeshare/contract";
import fc from "fast-check";

// Values for steps that change a system. They use few ids, so that steps affect the same things.
/** Texts, often ones that JSON, HTML, UTF-8 or PostgreSQL treat specially. */
export const nasty = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: "grapheme", maxLength: 12 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '"',
      "\\",
      "</script>",
      "\u2028",
      "😀",
      "\ud800",
      "a\0b",
      " ",
      "",
      "null",
      "-0",
      "ｆｕｌｌ",
      "e\u0301",
    ),
  },
);
export const stationId = fc.constantFrom("s1", "s2", 's"3', "ø4");
export const bikeId = fc.constantFrom("b1", "b2", "b3", 'b"4');
export const rideId = fc.constantFrom("r1", "r2", "r3");
export const typeId = fc.constantFrom("classic", "e", "unspecified", '"x');
export const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const orNull = <Value>(value: fc.Arbitrary<Value>) => fc.option(fc.option(value, { nil: null }), { nil: undefined });
const degrees = (most: number) =>
  fc.oneof(fc.double({ min: -most, max: most, noNaN: true }), fc.constantFrom(0, -0, 5e-324, most, -most));
export const typeWords = fc.record({
  id: typeId,
  name: fc.constantFrom(null, "Cargo", "Æ"),
  form_factor: fc.constantFrom(null, ...formFactor.options),
  propulsion_type: fc.constantFrom(null, ...propulsionType.options),
  max_range_meters: fc.constantFrom(null, 0, 60_000, 0.5),
});
const count = fc.oneof(fc.nat(30), fc.constant(2 ** 31 - 1000));
const state = fc.constantFrom("available", "non_operational", "non_contactable", "missing", "removed");
const location = fc.oneof(
  fc.constant({}),
  fc.record({ lat: degrees(90), lon: degrees(180) }),
  fc.record({ station_id: fc.option(stationId) }),
);

export const stationItem = fc.record({
  id: stationId,
  name: nasty,
  short_name: orNull(nasty),
  lat: degrees(90),
  lon: degrees(180),
  address: orNull(nasty),
  region_id: orNull(fc.constantFrom("north", "süd")),
  capacity: orNull(count),
  is_virtual_station: optional(fc.boolean()),
  is_installed: optional(fc.boolean()),
  is_renting: optional(fc.boolean()),
  num_docks_available: orNull(count),
  num_docks_disabled: orNull(count),
});
export const bikeItem = fc.tuple(
  fc.record({
    id: bikeId,
    number: orNull(nasty),
    vehicle_type_id: orNull(typeId),
    vehicle_state: optional(state),
    current_range_meters: orNull(count),
  }),
  location,
);
export const reportItem = fc.tuple(
  fc.record({
    id: bikeId,
    vehicle_state: optional(state),
    current_range_meters: orNull(count),
    ago: fc.integer({ min: -30_000, max: 9e8 }),
  }),
  location,
);

/** Draws any value that a feed may contain, valid or not. */
const weird = fc.oneof(
  nasty,
  fc.double(),
  fc.constantFrom(
    null,
    undefined,
    true,
    "1",
    -1,
    1e300,
    [],
    {},
    [{ text: "x", language: "en" }],
    "2026-13-01T00:00:00Z",
  ),
);
const or = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 4, arbitrary: value }, { weight: 1, arbitrary: weird });
const feedOf = (list: string, item: fc.Arbitrary<unknown>) =>
  fc.record({
    last_updated: or(fc.integer({ min: 1_750_000_000, max: 1_780_315_200 })),
    data: fc.record({ [list]: fc.array(item, { maxLength: 5 }) }),
  });
export const snapshot = fc.record(
  {
    station_information: feedOf(
      "stations",
      fc.record({
        station_id: or(stationId),
        name: or(nasty),
        lat: or(degrees(90)),
        lon: or(degrees(180)),
        region_id: weird,
        capacity: weird,
        short_name: weird,
      }),
    ),
    station_status: feedOf(
      "stations",
      fc.record({
        station_id: or(stationId),
        num_bikes_available: or(count),
        is_installed: or(fc.boolean()),
        is_renting: or(fc.boolean()),
        is_returning: weird,
        last_reported: or(fc.integer({ min: 0, max: 1_780_315_300 })),
        num_docks_available: weird,
        vehicle_types_available: or(fc.array(fc.record({ vehicle_type_id: or(typeId), count: or(count) }))),
      }),
    ),
    free_bike_status: feedOf(
      "bikes",
      fc.record({
        bike_id: or(fc.constantFrom("f1", "f2", "b1", "f3")),
        lat: or(degrees(90)),
        lon: or(degrees(180)),
        station_id: or(stationId),
        is_reserved: or(fc.boolean()),
        is_disabled: weird,
        vehicle_type_id: or(typeId),
        current_range_meters: weird,
        last_reported: weird,
      }),
    ),
    system_information: fc.record({
      last_updated: weird,
      data: fc.record({
        name: weird,
        language: or(fc.constantFrom("en", "no_NO", "zh-Hans")),
        timezone: or(fc.constantFrom("Europe/Oslo", "asia/kolkata", "+01:00", "EST", "Etc/GMT+5")),
        feed_contact_email: or(fc.emailAddress()),
        opening_hours: weird,
      }),
    }),
    vehicle_types: feedOf(
      "vehicle_types",
      fc.record({
        vehicle_type_id: or(typeId),
        form_factor: or(fc.constantFrom("bicycle", "scooter", "car")),
        propulsion_type: or(fc.constantFrom("human", "electric")),
        max_range_meters: or(count),
        name: weird,
      }),
    ),
    system_regions: feedOf("regions", fc.record({ region_id: or(fc.constantFrom("north", "3")), name: or(nasty) })),
  },
  { requiredKeys: [] },
);
