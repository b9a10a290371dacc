export type { BikeFields } from "./testing/bikes.ts";
export type { Clock } from "./testing/clock.ts";
export type { VehicleTypeFields } from "./testing/descriptions.ts";
export type { DeliveryName } from "./testing/examples.ts";
export { createFakeBikeShare, type FakeBikeShare, type FakeOptions } from "./testing/fake.ts";
export type { FakeFetch } from "./testing/fetch.ts";
export type { FakeKeyInput, FakePartner } from "./testing/keys.ts";
export type { Operation } from "./testing/operations.ts";
export type { EventFields, Operator } from "./testing/operator.ts";
export type { SeenRequest } from "./testing/requests.ts";
export type { ReservationFields } from "./testing/reservations.ts";
export type { RideEnd, RideFields, RideStart } from "./testing/rides.ts";
export { sampleCity, type SampleCity, type SampleSize } from "./testing/sample-city.ts";
export type {
  Script,
  ScriptedAnswer,
  ScriptedDelay,
  ScriptedStatus,
  ScriptOptions,
  ScriptRequest,
} from "./testing/script.ts";
export type { FakeServer } from "./testing/server.ts";
export type { StationFields } from "./testing/stations.ts";
export type { ExampleOptions, RecordedDelivery, SignedWebhook, WebhookOptions } from "./testing/webhook.ts";
