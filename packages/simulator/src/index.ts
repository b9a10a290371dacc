/** Simulates a city's bikes and rides, and sends them to the operator interface of a running service. */
export { describeCity } from "./bootstrap.ts";
export { type City, type CityRide, EBIKE_RANGE_METERS, makeCity } from "./city.ts";
export { type Figures, progressLine } from "./figures.ts";
export { type CityHistory, makeHistory, type RideUnderWay, type StationChange } from "./history.ts";
export { createOperatorClient, type ObservedCity, type OnAnswer, type PostBatch, readCity } from "./operator-client.ts";
export { createRandom, type Random } from "./random.ts";
export { type Simulation, startSimulation } from "./simulation.ts";
