export * from "./bike.ts";
export * from "./reservation.ts";
export * from "./ride.ts";
export * from "./station.ts";
