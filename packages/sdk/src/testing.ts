export type { FakeKeyInput } from "./testing/access.ts";
export type { Clock, FakePartner, VehicleTypeFields } from "./testing/city.ts";
export { createFakeBikeShare, type FakeBikeShare, type FakeOptions } from "./testing/fake.ts";
export type { BikeFields, StationFields } from "./testing/fleet.ts";
export type { Operation } from "./testing/operations.ts";
export type { EventFields, Operator } from "./testing/operator.ts";
export type { FakeFetch, FakeServer, SeenRequest } from "./testing/requests.ts";
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
export type {
  DeliveryName,
  ExampleOptions,
  RecordedDelivery,
  SignedWebhook,
  WebhookOptions,
} from "./testing/webhook.ts";
