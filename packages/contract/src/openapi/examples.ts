import type { BatchResults } from "../batch.ts";
import type { DashboardLink, DashboardLinkRequest } from "../dashboard-links.ts";
import type { Resend } from "../deliveries.ts";
import type { GbfsDocument } from "../gbfs.ts";
import type { FactsOf } from "../gbfs/facts.ts";
import type {
  AlertEnd,
  AlertUpsert,
  BikeReport,
  BikeUpsert,
  PastRideUpsert,
  RideCancel,
  RideCorrection,
  RideEnd,
  RideStart,
  StationCommand,
  StationOffline,
  StationUpsert,
} from "../operator-items.ts";
import type { PublicBike } from "../operator.ts";
import type { ListEnvelope } from "../paging.ts";
import type { ReservationExtension, ReservationRequest } from "../reservations.ts";
import type { StationAt } from "../stations.ts";
import type { FlowList, StationForecast, StationTypical, SystemSummary } from "../sums.ts";
import type { Example } from "./document.ts";
import {
  cancelledReservation,
  correctedRide,
  exampleAlert,
  exampleBike,
  exampleDeliveryRecord,
  exampleDeliveryDetail,
  exampleEvent,
  exampleExport,
  exampleHealth,
  exampleMe,
  exampleOperatorAlert,
  exampleRegion,
  exampleReservation,
  exampleRide,
  exampleStation,
  exampleStationHistory,
  exampleVehicleType,
  expiredReservation,
  extendedReservation,
  fulfilledReservation,
  startedRide,
} from "./example-resources.ts";

/** Examples by the name of their schema, or by the operation that has examples of its own. */
export type Examples = Readonly<Record<string, Readonly<Record<string, Example>>>>;

const stationUpsert: StationUpsert = {
  id: exampleStation.id,
  name: exampleStation.name,
  lat: exampleStation.lat,
  lon: exampleStation.lon,
  capacity: exampleStation.capacity,
};

const stationCommand: StationCommand = { id: exampleStation.id };

const stationOffline: StationOffline = { ...stationCommand, summary: exampleAlert.summary };

const alertUpsert: AlertUpsert = {
  id: exampleAlert.id,
  type: exampleAlert.type,
  summary: [...exampleOperatorAlert.summary],
  url: exampleAlert.url,
  times: [{ start: "2026-03-16T07:00:00+01:00", end: "2026-03-20T19:00:00+01:00" }],
  station_ids: [exampleStation.id],
};

const alertEnd: AlertEnd = { id: exampleAlert.id };

const bikeUpsert: BikeUpsert = {
  id: exampleBike.id,
  number: exampleBike.number,
  vehicle_type_id: exampleBike.vehicle_type_id,
  vehicle_state: "available",
  station_id: exampleStation.id,
};

export const bikeReport: BikeReport = {
  id: exampleBike.id,
  at: "2026-03-14T08:20:26Z",
  vehicle_state: "non_operational",
  lat: 40.7359381,
  lon: -74.0303054,
  current_range_meters: 21400,
};

export const rideStart: RideStart = {
  id: exampleRide.id,
  bike_id: exampleRide.bike_id,
  started_at: "2026-03-14T08:02:11Z",
  start_station_id: exampleRide.start_station_id,
  rider_category: exampleRide.rider_category,
};

const rideEnd: RideEnd = {
  id: exampleRide.id,
  ended_at: "2026-03-14T08:20:26Z",
  end_station_id: exampleRide.end_station_id,
  distance_meters: exampleRide.distance_meters,
};

const rideCancel: RideCancel = { id: exampleRide.id, cancelled_at: "2026-03-14T08:02:31Z" };

const rideCorrection: RideCorrection = {
  id: exampleRide.id,
  end_station_id: exampleRide.end_station_id,
  distance_meters: correctedRide.distance_meters,
};

export const pastRide: PastRideUpsert = {
  id: "2025-000001",
  bike_id: exampleRide.bike_id,
  started_at: "2025-06-01T09:14:02+02:00",
  ended_at: "2025-06-01T09:31:40+02:00",
  start_station_id: exampleStation.id,
  end_station_id: "HB103",
};

const batchResults: BatchResults = {
  results: [
    { id: "a", outcome: "created", error: null, warning: null },
    { id: "b", outcome: "unchanged", error: null, warning: null },
    {
      id: "c",
      outcome: "failed",
      error: { error: "not_found", message: "There is no bike with the id bike_9." },
      warning: null,
    },
  ],
  failed: 1,
};

const anyBike: ReservationRequest = { station_id: exampleStation.id, rider_ref: "r-82f1" };
const oneBike: ReservationRequest = { bike_id: exampleReservation.bike_id, rider_ref: "r-82f1", hold_minutes: 10 };

const gbfsVersions: GbfsDocument = {
  last_updated: "2026-03-14T08:20:26Z",
  ttl: 60,
  version: "3.0",
  data: {
    versions: ["2.3", "3.0"].map((version) => ({
      version,
      url: `https://bikes.example/gbfs/harbour/${version}/gbfs.json`,
    })),
  },
};

const cursor = "AYx2pQm0b3JzZT1zdGFwbGU";

const systemFacts = {
  name: [{ text: "City bikes", language: "en" }],
  timezone: "Europe/Oslo",
  station_links: { web: "https://bikes.example/stations/{station_id}", ios: "citybikes://stations/{station_id}" },
  rental_apps: { ios: { store_uri: "https://apps.example/citybikes", discovery_uri: "citybikes://open" } },
} satisfies FactsOf<"system">;

const typeFacts = {
  form_factor: "bicycle",
  propulsion_type: "electric_assist",
  max_range_meters: 60_000,
  return_constraint: "any_station",
  default_pricing_plan_id: "e-ride",
} satisfies FactsOf<"vehicle_type">;

const regionFacts = {
  name: [
    { text: "North", language: "en" },
    { text: "Nord", language: "nb" },
  ],
} satisfies FactsOf<"region">;

const stationFacts = {
  post_code: "0150",
  city: "Oslo",
  rental_methods: ["key", "creditcard"],
  is_charging_station: true,
} satisfies FactsOf<"station">;

const bikeFacts = { vehicle_equipment: ["winter_tires"] } satisfies FactsOf<"bike">;

const planFacts = {
  currency: "EUR",
  price: 1,
  is_taxable: false,
  name: [{ text: "Single e-bike ride", language: "en" }],
  description: [{ text: "EUR 1.00 to unlock, then EUR 0.20 a minute", language: "en" }],
  per_min_pricing: [{ start: 0, rate: 0.2, interval: 1 }],
} satisfies FactsOf<"pricing_plan">;

const ring = [
  [10.74, 59.91],
  [10.75, 59.91],
  [10.75, 59.92],
  [10.74, 59.91],
];
const zoneRule = { ride_start_allowed: true, ride_end_allowed: false, ride_through_allowed: true };
const zoneFacts = {
  features: [
    {
      type: "Feature",
      geometry: { type: "MultiPolygon", coordinates: [[ring]] },
      properties: { name: [{ text: "Palace park", language: "en" }], rules: [zoneRule] },
    },
  ],
  global_rules: [{ ...zoneRule, ride_end_allowed: true }],
} satisfies FactsOf<"geofencing_zones">;

/** Returns a described thing all of whose facts are the operator's. */
function described(id: string, facts: object) {
  const from = Object.fromEntries(Object.keys(facts).map((name) => [name, "operator"]));
  return { id, published: facts, own: facts, from };
}

function factExample(summary: string, id: string, facts: object): Record<string, Example> {
  return { facts: { summary, value: described(id, facts) } };
}

function factListExample(id: string, facts: object): Record<string, Example> {
  return { list: { summary: "A list of one", value: { data: [described(id, facts)] } } };
}

function changeExample(summary: string, changes: object): Record<string, Example> {
  return { change: { summary, value: changes } };
}

const exampleTypical: StationTypical = {
  station_id: exampleStation.id,
  time_zone: "America/New_York",
  is_ready: true,
  days_known: 56,
  since: "2026-01-17T05:00:00.000Z",
  ready_at: null,
  data: [
    {
      kind: "weekday",
      days: 40,
      quarters: [
        {
          time: "08:15",
          bikes: { low: 1, median: 5, high: 11 },
          docks: { low: 13, median: 19, high: 23 },
          empty: 0.08,
          full: 0,
        },
      ],
    },
  ],
};

const notReady = {
  is_ready: false,
  days_known: 9,
  since: "2026-03-05T14:00:00.000Z",
  ready_at: "2026-03-26T14:00:00.000Z",
};

const exampleForecast: StationForecast = {
  station_id: exampleStation.id,
  made_at: "2026-03-14T08:20:26.000Z",
  for: "2026-03-14T08:50:26.000Z",
  horizon: "PT30M",
  is_ready: true,
  days_known: 56,
  since: "2026-01-17T05:00:00.000Z",
  ready_at: null,
  method: "change",
  bikes: { now: 3, low: 0, median: 2, high: 4, at_least_one: 0.84 },
  docks: { now: 21, low: 20, median: 22, high: 24, at_least_one: 1 },
  score: { tried: 960, change: { brier: 0.05, pinball: 0.31 }, as_now: { brier: 0.07, pinball: 0.41 } },
};

const exampleSummary: SystemSummary = {
  step: "P1D",
  time_zone: "America/New_York",
  summed_to: "2026-03-14T08:20:00.000Z",
  data: [
    {
      from: "2026-03-13T04:00:00.000Z",
      to: "2026-03-14T04:00:00.000Z",
      rides_started: 81_204,
      rides_ended: 81_190,
      fleet: { available: 21_840.5, reserved: 12.1, on_trip: 1_130.2, disabled: 804, missing: 61 },
      stations: { online: 1_790.4, empty: 121.7, full: 84.2, offline: 14 },
    },
  ],
};

const exampleFlows: FlowList = {
  from: "2026-03-07",
  to: "2026-03-13",
  time_zone: "America/New_York",
  summed_to: "2026-03-14T08:15:00.000Z",
  data: [{ start_station_id: exampleStation.id, end_station_id: "HB103", rides: 212 }],
  left_out: { pairs: 1_804, rides: 2_977 },
  next_cursor: cursor,
};

/** The examples of a successful answer. */
export const answerExamples: Examples = {
  StationAt: {
    station: { summary: "A station", value: exampleStation },
    past: {
      summary: "A station as it was at an instant",
      value: { ...exampleStation, last_reported: null, as_of: "2026-03-14T08:30:00.000Z" } satisfies StationAt,
    },
  },
  StationHistory: {
    quarter: { summary: "A quarter of an hour in which the last bike left", value: exampleStationHistory },
  },
  StationList: listExamples(exampleStation),
  VehicleTypeList: listExamples(exampleVehicleType),
  RegionList: listExamples(exampleRegion),
  Alert: { closure: { summary: "A station will be closed", value: exampleAlert } },
  AlertList: listExamples(exampleAlert),
  OperatorAlertList: listExamples(exampleOperatorAlert),
  Export: { rides: { summary: "The rides of a month, for everybody", value: exampleExport } },
  ExportList: listExamples(exampleExport),
  Ride: {
    completed: { summary: "A ride that has ended", value: exampleRide },
    started: { summary: "A ride that is under way", value: startedRide },
  },
  RideList: listExamples(exampleRide),
  Bike: { bike: { summary: "A bike at a station", value: exampleBike } },
  BikeList: listExamples(exampleBike),
  Reservation: {
    active: { summary: "A reservation that holds its bike", value: exampleReservation },
    cancelled: { summary: "A reservation that its partner cancelled", value: cancelledReservation },
    expired: { summary: "A reservation that expired", value: expiredReservation },
    fulfilled: { summary: "A reservation whose bike was taken", value: fulfilledReservation },
  },
  "reservations.create": {
    active: { summary: "A reservation that holds its bike", value: exampleReservation },
  },
  "reservations.extend": {
    extended: { summary: "A bike that is held for 15 minutes more", value: extendedReservation },
  },
  "reservations.cancel": { cancelled: { summary: "The bike is free again", value: cancelledReservation } },
  ReservationList: listExamples(exampleReservation),
  Event: {
    ride: { summary: "A ride has ended", value: exampleEvent("ride.completed") },
    station: { summary: "A station has gone offline", value: exampleEvent("station.offline") },
    reservation: { summary: "A reservation was cancelled", value: exampleEvent("reservation.cancelled") },
  },
  EventList: listExamples(exampleEvent("ride.completed")),
  StationTypical: {
    ready: { summary: "A station with enough known days", value: exampleTypical },
    not_yet: { summary: "Too few days are known", value: { ...exampleTypical, ...notReady, data: [] } },
  },
  StationForecast: {
    change: { summary: "A forecast from the station's usual changes", value: exampleForecast },
    as_now: {
      summary: "A forecast that nothing changes",
      value: {
        ...exampleForecast,
        method: "as_now",
        bikes: { now: 3, low: 3, median: 3, high: 3, at_least_one: 1 },
        docks: { now: 21, low: 21, median: 21, high: 21, at_least_one: 1 },
        score: { tried: 960, change: { brier: 0.08, pinball: 0.44 }, as_now: { brier: 0.07, pinball: 0.41 } },
      } satisfies StationForecast,
    },
  },
  SystemSummary: { day: { summary: "One step, of a day", value: exampleSummary } },
  DeliveryRecordList: {
    page: {
      summary: "A failing delivery, and the cursor of the next page",
      value: { data: [exampleDeliveryRecord], next_cursor: cursor },
    },
    searched: {
      summary: "No match so far, and the cursor to search on",
      value: { data: [], next_cursor: cursor, searched_to: "2026-03-02T17:12:40.000Z" },
    },
  },
  DeliveryDetail: { failing: { summary: "A failing delivery", value: exampleDeliveryDetail } },
  Resend: {
    now: {
      summary: "The next attempt is due now",
      value: { id: exampleDeliveryRecord.id, outcome: "retried_now" } satisfies Resend,
    },
  },
  FlowList: { page: { summary: "One pair, and the cursor of the next page", value: exampleFlows } },
  Me: { me: { summary: "A key for a journey planner", value: exampleMe } },
  GbfsDocument: { versions: { summary: "The published versions", value: gbfsVersions } },
  Health: { health: { summary: "All is well", value: exampleHealth } },
  DashboardLink: {
    link: {
      summary: "A link to a partner's overview",
      value: {
        id: "dashboard_link_0VbeTqWcA3kLx9mPz2RsYd",
        url: "https://bikes.example/dashboard/embedded/partners/partner_0VbeTqWcA3kLx9mPz2RsYd/overview#7Jr0Vb9mYwQh2KpXc4TzNf8LsDgAe1RuIo5Wj3MkHqE",
        expires_at: "2026-03-14T08:26:43.512Z",
      } satisfies DashboardLink,
    },
  },
  PublicBike: {
    bike: {
      summary: "A bike whose last ride has just ended",
      value: {
        id: exampleRide.bike_id,
        public_id: "v_ZpDf3Y0c1kq9TgWmXs7B",
        retired_at: "2026-03-14T08:20:26.000Z",
      } satisfies PublicBike,
    },
  },
  DescribedSystem: factExample("The facts of a system", "", systemFacts),
  DescribedVehicleType: factExample("The facts of a type", "ebike", typeFacts),
  DescribedVehicleTypeList: factListExample("ebike", typeFacts),
  DescribedRegion: factExample("The facts of a region", "north", regionFacts),
  DescribedRegionList: factListExample("north", regionFacts),
  DescribedStation: factExample("The facts of a station", "harbour", stationFacts),
  DescribedBike: factExample("The facts of a bike", "bike-17", bikeFacts),
  DescribedPricingPlan: factExample("The facts of a plan", "e-ride", planFacts),
  DescribedPricingPlanList: factListExample("e-ride", planFacts),
  DescribedGeofencingZones: factExample("One zone", "", zoneFacts),
  RemovedFacts: { removed: { summary: "The facts of a pricing plan were removed", value: { id: "e-ride" } } },
  BatchResults: {
    mixed: { summary: "Two items done, one failed", value: batchResults },
  },
};

/** The examples of a request's body. */
export const requestExamples: Examples = {
  ReservationRequest: {
    any_bike: { summary: "Any bike of a station", value: anyBike },
    one_bike: { summary: "One bike, for 10 minutes", value: oneBike },
  },
  ReservationExtension: {
    longer: { summary: "15 minutes more", value: { hold_minutes: 15 } satisfies ReservationExtension },
  },
  DashboardLinkRequest: {
    overview: {
      summary: "A link for somebody who only reads",
      value: { viewer: "ada@transit.example" } satisfies DashboardLinkRequest,
    },
  },
  SystemFactChanges: changeExample("Links to stations, and the app that they open", {
    name: "City bikes",
    station_links: systemFacts.station_links,
    rental_apps: systemFacts.rental_apps,
    phone_number: null,
  }),
  VehicleTypeFactChanges: changeExample("What a vehicle type costs, and where it may be left", {
    name: "E-bike",
    default_pricing_plan_id: "e-ride",
    return_constraint: "any_station",
  }),
  RegionFactChanges: changeExample("A region's name in two languages", regionFacts),
  StationFactChanges: changeExample("How riders pay at a station", stationFacts),
  BikeFactChanges: changeExample("The equipment of a bike", bikeFacts),
  PricingPlanFactChanges: changeExample("A price by the minute", { ...planFacts, name: "Single e-bike ride" }),
  GeofencingZonesFactChanges: changeExample("One zone", zoneFacts),
  StationUpserts: batchExample("A new station", stationUpsert),
  StationsOffline: batchExample("One station, and what riders are told", stationOffline),
  StationsOnline: batchExample("One station", stationCommand),
  StationsRemove: batchExample("One station", stationCommand),
  AlertUpserts: batchExample("A closure in two languages", alertUpsert),
  AlertEnds: batchExample("One alert", alertEnd),
  BikeUpserts: batchExample("A bike at a station", bikeUpsert),
  BikeReports: batchExample("A bike that is out of order", bikeReport),
  PastRides: batchExample("A ride of last year", pastRide),
  RideStarts: batchExample("A ride from a station", rideStart),
  RideEnds: batchExample("A ride to a station", rideEnd),
  RideCancels: batchExample("A ride that did not take place", rideCancel),
  RideCorrections: batchExample("The correct end of a ride", rideCorrection),
};

/** Returns examples of a list: its first page, a numbered page, a page by cursor, and the last page. */
function listExamples<Item>(item: Item): Record<string, Example> {
  const page = (summary: string, value: ListEnvelope<Item>): Example => ({ summary, value });
  return {
    first: page("Without page and cursor: go on with either", {
      data: [item],
      page: 1,
      total_pages: 37,
      next_cursor: cursor,
    }),
    numbered: page("With page", { data: [item], page: 2, total_pages: 37 }),
    by_cursor: page("With cursor", { data: [item], next_cursor: cursor }),
    end: page("With cursor, the last page: no next_cursor", { data: [item] }),
  };
}

/** Returns the example of a batch with one item. */
function batchExample<Item>(summary: string, item: Item): Record<string, Example> {
  return { one: { summary, value: { items: [item] } } };
}
