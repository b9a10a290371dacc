import { bike, eventRecord, partnerContract, reservation, ride, station } from "@bikeshare/contract";
import { expect, test } from "vitest";
import { type Filter, listFilters } from "./filters.ts";

const NO_FILTERS = ["page", "limit", "cursor", "after", "changes_since", "at"];

test.each([
  ["stations", partnerContract.stations.list.query, Object.keys(station.shape)],
  ["bikes", partnerContract.bikes.list.query, Object.keys(bike.shape)],
  ["rides", partnerContract.rides.list.query, Object.keys(ride.shape)],
  ["reservations", partnerContract.reservations.list.query, Object.keys(reservation.shape)],
  ["events", partnerContract.events.list.query, eventRecord.options.flatMap(({ shape }) => Object.keys(shape))],
] as const)("the filters of %s are those of the contract, and compare fields that there are", (list, query, fields) => {
  const filters: Readonly<Record<string, Filter>> = listFilters[list];
  const parameters = Object.keys(query.shape).filter((name) => !NO_FILTERS.includes(name));
  expect(Object.keys(filters).sort()).toEqual(parameters.sort());
  expect(fields).toEqual(expect.arrayContaining(Object.values(filters).flatMap(([, ...compared]) => compared)));
});
