import type { BatchResults } from "../batch.ts";
import type { GbfsDocument } from "../gbfs.ts";
import type { ListEnvelope } from "../paging.ts";
import type { ReservationExtension, ReservationRequest } from "../reservations.ts";
import type { Example } from "./document.ts";
import { exampleEvent } from "./example-events.ts";
import * as items from "./example-items.ts";
import * as resources from "./example-resources.ts";

/** Examples by the name of the schema that they follow, or by the operation that gives only some of what it allows. */
export type Examples = Readonly<Record<string, Readonly<Record<string, Example>>>>;

const cursor = "AYx2pQm0b3JzZT1zdGFwbGU";

/** The examples of a successful answer. */
export const answerExamples: Examples = {
  Station: { station: { summary: "A station", value: resources.exampleStation } },
  StationList: listExamples(resources.exampleStation),
  VehicleTypeList: listExamples(resources.exampleVehicleType),
  RegionList: listExamples(resources.exampleRegion),
  Ride: {
    completed: { summary: "A ride that has ended", value: resources.exampleRide },
    started: { summary: "A ride that is under way", value: resources.startedRide },
  },
  RideList: listExamples(resources.exampleRide),
  Bike: { bike: { summary: "A bike at a station", value: resources.exampleBike } },
  BikeList: listExamples(resources.exampleBike),
  Reservation: {
    active: { summary: "A reservation that holds its bike", value: resources.exampleReservation },
    cancelled: { summary: "One that its partner cancelled", value: resources.cancelledReservation },
    expired: { summary: "One whose time ran out", value: resources.expiredReservation },
    fulfilled: { summary: "One whose bike was taken", value: resources.fulfilledReservation },
  },
  "reservations.create": {
    active: { summary: "A reservation that holds its bike", value: resources.exampleReservation },
  },
  "reservations.extend": {
    extended: { summary: "Held for 15 minutes more", value: resources.extendedReservation },
  },
  "reservations.cancel": { cancelled: { summary: "The bike is free again", value: resources.cancelledReservation } },
  ReservationList: listExamples(resources.exampleReservation),
  Event: {
    ride: { summary: "A ride has ended", value: exampleEvent("ride.completed") },
    station: { summary: "A station has gone offline", value: exampleEvent("station.offline") },
    reservation: { summary: "A reservation was cancelled", value: exampleEvent("reservation.cancelled") },
  },
  EventList: listExamples(exampleEvent("ride.completed")),
  Me: { me: { summary: "A key for a journey planner", value: resources.exampleMe } },
  GbfsDocument: { versions: { summary: "The versions there are", value: gbfsVersions() } },
  Health: { health: { summary: "All is well", value: resources.exampleHealth } },
  BatchResults: {
    mixed: { summary: "Two items done, one failed", value: batchResults() },
  },
};

/** The examples of a request's body. */
export const requestExamples: Examples = {
  ReservationRequest: {
    any_bike: { summary: "Any bike of a station", value: anyBike() },
    one_bike: { summary: "One bike, for 10 minutes", value: oneBike() },
  },
  ReservationExtension: {
    longer: { summary: "15 minutes more", value: { hold_minutes: 15 } satisfies ReservationExtension },
  },
  StationUpserts: batchExample("A new station", items.stationUpsert),
  StationsOffline: batchExample("One station", items.stationCommand),
  StationsOnline: batchExample("One station", items.stationCommand),
  StationsRemove: batchExample("One station", items.stationCommand),
  BikeUpserts: batchExample("A bike at a station", items.bikeUpsert),
  BikeReports: batchExample("A bike that is out of order", items.bikeReport),
  PastRides: batchExample("A ride of last year", items.pastRide),
  RideStarts: batchExample("A ride from a station", items.rideStart),
  RideEnds: batchExample("A ride to a station", items.rideEnd),
  RideCancels: batchExample("A ride that did not come about", items.rideCancel),
  RideCorrections: batchExample("The right end of a ride", items.rideCorrection),
};

function listExamples<Item>(item: Item): Record<string, Example> {
  const page = (summary: string, value: ListEnvelope<Item>): Example => ({ summary, value });
  return {
    first: page("Neither page nor cursor: go on either way", {
      data: [item],
      page: 1,
      total_pages: 37,
      next_cursor: cursor,
    }),
    numbered: page("With page", { data: [item], page: 2, total_pages: 37 }),
    by_cursor: page("With cursor", { data: [item], next_cursor: cursor }),
    end: page("With cursor, at the end: no next_cursor", { data: [item] }),
  };
}

function batchExample<Item>(summary: string, item: Item): Record<string, Example> {
  return { one: { summary, value: { items: [item] } } };
}

function batchResults(): BatchResults {
  return {
    results: [
      { id: "a", outcome: "created", error: null },
      { id: "b", outcome: "unchanged", error: null },
      { id: "c", outcome: "failed", error: { error: "not_found", message: "There is no bike with the id bike_9." } },
    ],
    failed: 1,
  };
}

function anyBike(): ReservationRequest {
  return { station_id: resources.exampleStation.id, rider_ref: "r-82f1" };
}

function oneBike(): ReservationRequest {
  return { bike_id: resources.exampleReservation.bike_id, rider_ref: "r-82f1", hold_minutes: 10 };
}

function gbfsVersions(): GbfsDocument {
  const url = (version: string) => `https://bikes.example/gbfs/harbour/${version}/gbfs.json`;
  const versions = ["2.3", "3.0"].map((version) => ({ version, url: url(version) }));
  return { last_updated: "2026-03-14T08:20:26Z", ttl: 60, version: "3.0", data: { versions } };
}
