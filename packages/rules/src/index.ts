/*
 * The rules that the service and the SDK's fake of it share. The fake runs in browsers too, so nothing here does I/O or needs
 * Node. The exports include what the rules use of the contract: its limits, errors and messages.
 */
export * from "@bikeshare/contract/pure";
export * from "./bike.ts";
export * from "./filters.ts";
export * from "./idempotency.ts";
export * from "./key.ts";
export * from "./paging.ts";
export * from "./rate-limit.ts";
export * from "./request.ts";
export * from "./reservation.ts";
export * from "./ride-times.ts";
export * from "./ride.ts";
export * from "./service-error.ts";
export * from "./station.ts";
export * from "./sums.ts";
export * from "./station-history.ts";
