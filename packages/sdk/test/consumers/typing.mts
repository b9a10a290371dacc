// Compiled in a strict project with the package's declarations. It checks that wrong uses are errors, and no type is `any`.
import {
  type ApiError,
  BikeShare,
  type BikeShareError,
  CheckpointLostError,
  type ClientOptions,
  type EventRecord,
  isApiError,
  isBikeShareError,
  type Me,
  type Reservation,
  type Ride,
  type Station,
  type StationAt,
} from "@bikeshare/sdk";
import type { SandboxClient, SandboxClock, SandboxFaults } from "@bikeshare/sdk/sandbox";
import { createFakeBikeShare } from "@bikeshare/sdk/testing";
import { type Delivery, isWebhookVerificationError, type verify } from "@bikeshare/sdk/webhooks";

type IsAny<Type> = 0 extends 1 & Type ? true : false;
/** Whether two types are identical. `any` is identical only to `any`. */
type Is<One, Other> = (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false;
const check = <Holds extends true>(..._holds: Holds[]): void => undefined;

type Given<Method extends (...args: never[]) => PromiseLike<unknown>> = Awaited<ReturnType<Method>>;

check<Is<Given<BikeShare["rides"]["get"]>, Ride>>();
check<Is<Given<BikeShare["rides"]["list"]>["data"], Ride[]>>();
check<Is<Given<BikeShare["stations"]["list"]>["data"][number], StationAt>>();
check<Is<Given<BikeShare["reservations"]["create"]>, Reservation>>();
check<Is<Given<BikeShare["reservations"]["cancel"]>, Reservation>>();
check<Is<Given<BikeShare["events"]["since"]>["data"][number], EventRecord>>();
check<Is<Given<BikeShare["events"]["get"]>, EventRecord>>();
check<Is<Given<BikeShare["me"]["get"]>, Me>>();
check<Is<Given<SandboxClient["sandbox"]["advanceAndWait"]>, SandboxClock>>();
check<Is<Given<SandboxClient["rides"]["get"]>, Ride>>();
check<Is<AnyWithin<SandboxFaults>, false>>();
check<Is<Given<BikeShare["health"]["live"]>["status"], "ok">>();
check<Is<Awaited<ReturnType<typeof verify>>, Delivery>>();

/** Whether a type contains `any` in its properties, down to a depth. */
type AnyWithin<Type, Depth extends readonly 0[] = [0, 0, 0, 0]> =
  IsAny<Type> extends true
    ? true
    : Depth extends readonly [0, ...infer Rest extends readonly 0[]]
      ? Type extends string
        ? false
        : Type extends readonly (infer Item)[]
          ? AnyWithin<Item, Rest>
          : Type extends (...args: infer Args) => infer Result
            ? AnyWithin<Args[number], Rest> | AnyWithin<Result, Rest>
            : Type extends object
              ? Type extends Headers | Response | AbortSignal
                ? false // The platform's.
                : { [Name in keyof Type]-?: AnyWithin<Type[Name], Rest> }[keyof Type] extends infer Found
                  ? true extends Found
                    ? true
                    : false
                  : never
              : false
      : false;
check<Is<AnyWithin<Station>, false>>();
check<Is<AnyWithin<Ride>, false>>();
check<Is<AnyWithin<EventRecord>, false>>();
check<Is<AnyWithin<ClientOptions>, false>>();
check<Is<AnyWithin<BikeShareError>, false>>();
check<Is<AnyWithin<{ readonly found: ReturnType<typeof JSON.parse>[] }>, true>>();

export function narrow(event: EventRecord | Delivery): string | number | null {
  switch (event.event) {
    case "ride.started":
    case "ride.completed":
    case "ride.cancelled":
      return event.data.distance_meters;
    case "station.offline":
    case "station.online":
      return event.data.num_bikes_available;
    case "reservation.created":
    case "reservation.cancelled":
    case "reservation.expired":
    case "reservation.fulfilled":
      return event.data.expires_at;
    case "station.updated":
      return event.data.name;
    case "bike.state_changed":
      return event.data.vehicle_state;
    default:
      check<Is<typeof event.data, unknown>>();
      return event.event;
  }
}

export function wrongEvents(event: EventRecord): void {
  // @ts-expect-error -- there is no such event
  if (event.event === "ride.ended") return;
  // @ts-expect-error -- what it holds is not known before its name is
  void event.data.bike_id;
  // @ts-expect-error -- a station has no bike
  if (event.event === "station.online") void event.data.bike_id;
}

export async function wrongCalls(client: BikeShare): Promise<void> {
  // @ts-expect-error -- there is no such status
  client.rides.list({ status: "finished" });
  // @ts-expect-error -- there is no such parameter
  client.rides.list({ station: "market" });
  // @ts-expect-error -- an instant is a text
  client.rides.list({ started_after: new Date() });
  // @ts-expect-error -- a number is a number
  client.stations.list({ limit: "50" });
  // @ts-expect-error -- there is no such event
  client.events.list({ event: "ride.ended" });
  // @ts-expect-error -- where to begin is said once
  client.events.since("event_1", { after: "event_2" });
  // @ts-expect-error -- a text may be empty or missing, which is said as null or undefined
  client.events.since(7);
  // @ts-expect-error -- a walk that is finished has no checkpoint
  client.rides.list().resumeFrom(client.rides.list().checkpoint());
  // @ts-expect-error -- how many must be said, lest a program reads 50,000 pages by mistake
  await client.rides.list().toArray();
  // @ts-expect-error -- there is no such field
  client.reservations.create({ station: "market" });
  // @ts-expect-error -- only what creates something takes a key for it
  client.reservations.cancel("reservation_1", { idempotencyKey: "k" });
  // @ts-expect-error -- an id is a text
  client.rides.get(7);
  // @ts-expect-error -- there is no such option
  client.rides.get("ride_1", { timeout: 1000 });
  // @ts-expect-error -- a page's items are in its data
  void (await client.rides.list()).length;
  // @ts-expect-error -- a resource cannot be replaced
  client.rides = new BikeShare({ baseUrl: "https://bikes.example", apiKey: "k" }).rides;
}

export function wrongTests({ sandbox }: SandboxClient): void {
  // @ts-expect-error -- there is no such event
  sandbox.trigger("ride.ended");
  // @ts-expect-error -- there is no such scenario
  sandbox.scenario("rush");
  // @ts-expect-error -- there is no such fault
  sandbox.addFault({ status: 404 });
  // @ts-expect-error -- how much time passes must be said
  sandbox.advance({});
}

export function wrongClients(): void {
  // @ts-expect-error -- the key is missing
  void new BikeShare({ baseUrl: "https://bikes.example" });
  // @ts-expect-error -- a variable that may not be set
  void new BikeShare({ baseUrl: "https://bikes.example", apiKey: undefined as string | undefined });
  // @ts-expect-error -- it is called maxRetries
  void new BikeShare({ baseUrl: "https://bikes.example", apiKey: "k", retries: 3 });
  // @ts-expect-error -- there is no such field
  createFakeBikeShare({ bikes: [{ id: "bike-1", station: "market" }] });
}

export function explain(error: unknown): string | number | undefined {
  // @ts-expect-error -- there is no such code
  if (isApiError(error, "no_bikes")) return undefined;
  if (isApiError(error, "no_bike_available")) {
    check<Is<typeof error.code, "no_bike_available">>();
    return error.status;
  }
  if (isApiError(error)) check<Is<typeof error extends ApiError ? true : false, true>>();
  if (error instanceof CheckpointLostError) return error.message;
  if (isWebhookVerificationError(error)) {
    // @ts-expect-error -- there is no such reason
    if (error.reason === "too_old") return undefined;
    return error.reason;
  }
  // Any code can be compared, so that a program can handle codes that are newer than this package.
  if (isBikeShareError(error) && error.code === "a_code_of_tomorrow") return error.retryAfterMs;
  return undefined;
}
