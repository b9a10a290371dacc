// Compiled in a strict project that has all three packages.
import { errorCatalogue, partnerContract, ride, type Ride } from "@bikeshare/contract";
import { createOpenApiDocument } from "@bikeshare/contract/openapi";
import type { Ride as RideOfClient } from "@bikeshare/sdk";
import type { Ride as RideOfWebhooks } from "@bikeshare/webhooks";

export const path: "/v1/rides" = partnerContract.rides.list.path;
export const status: 401 = errorCatalogue.unauthorized.status;
export const read = (value: unknown): Ride => ride.parse(value);
/** Checks that a ride of the contract has the types of the client and of the webhooks package. */
export const same = (value: Ride): [RideOfClient, RideOfWebhooks] => [value, value];
export const version: string = createOpenApiDocument({ baseUrl: "https://bikes.example", version: "1" }).openapi;
