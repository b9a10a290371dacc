export * from "@bikeshare/contract/pure";
export * from "./bike.ts";
export * from "./key.ts";
export * from "./paging.ts";
export * from "./rate-limit.ts";
export * from "./reservation.ts";
export * from "./ride.ts";
export * from "./station.ts";
