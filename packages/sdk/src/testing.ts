/* `@bikeshare/sdk/testing`: a fake of the service in memory, for tests of programs that use the service. */

export type { AlertFields } from "./testing/alerts.ts";
export type { FakeKeyInput } from "./testing/access.ts";
export type { Clock, EventFields, FakePartner } from "./testing/city.ts";
export type { DeliveryFields } from "./testing/deliveries.ts";
export type { Operation } from "./testing/contract.generated.ts";
export {
  createFakeBikeShare,
  type DeliveryName,
  type ExampleOptions,
  type FakeBikeShare,
  type FakeOptions,
  type WebhookOptions,
} from "./testing/fake.ts";
export type { BikeFields, ExportFields, Operator, StationFields, VehicleTypeFields } from "./testing/operator.ts";
export type { FakeFetch, FakeServer, ListenOptions, SeenRequest } from "./testing/requests.ts";
export type { ReservationFields } from "./testing/reservations.ts";
export type { RideCorrection, RideEnd, RideFields, RideStart } from "./testing/rides.ts";
export { sampleCity, type SampleCity, type SampleSize } from "./testing/sample-city.ts";
export type {
  Script,
  ScriptedAnswer,
  ScriptedDelay,
  ScriptedStatus,
  ScriptOptions,
  ScriptRequest,
} from "./testing/script.ts";
export type { SignedRequest, TestDelivery } from "./testing/webhooks.ts";
