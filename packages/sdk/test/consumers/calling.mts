// Compiled in a strict project: with the browser's types, then with Node's instead.
import { BikeShare, ConflictError, isApiError, isBikeShareError } from "@bikeshare/sdk";
import type {
  ApiResponse,
  Bike,
  ApiPromise,
  ClientOptions,
  EventRecord,
  List,
  Page,
  Ride,
  ListIterator,
} from "@bikeshare/sdk";
import { createFakeBikeShare, sampleCity } from "@bikeshare/sdk/testing";
import { validateResponse } from "@bikeshare/sdk/validate";
import { isWebhookVerificationError, sign, verify } from "@bikeshare/sdk/webhooks";
import type { Delivery } from "@bikeshare/sdk/webhooks";

const options: ClientOptions = {
  apiKey: async () => "bss_test_1",
  baseUrl: "https://bikes.example",
  fetch,
  validate: validateResponse,
  onRetry: ({ error, delayMs }) => void [error.attempts, delayMs],
};
const client = new BikeShare(options);

export async function walk(signal: AbortSignal): Promise<string | undefined> {
  const list: List<Ride> = client.rides.list({ status: "completed" }, { signal, maxRetries: 0 });
  const page: Page<Ride> = await list;
  const steps: ListIterator<Ride> = list[Symbol.asyncIterator]();
  for await (const ride of steps) if (ride.end_station_id === page.data[0]?.end_station_id) break;
  const bikes: Bike[] = await client.bikes.list({ vehicle_state: "available" }).toArray({ limit: 3 });
  return bikes[0]?.station_id ?? steps.checkpoint();
}

export async function hold(): Promise<number> {
  const call: ApiPromise<{ readonly id: string }> = client.reservations.create(
    { station_id: "s" },
    { idempotencyKey: "k" },
  );
  const answered: ApiResponse<{ readonly id: string }> = await call.withResponse();
  // @ts-expect-error -- there is no such parameter
  await client.rides.list({ station: "s" });
  return answered.response.status;
}

export function explain(error: unknown): string {
  if (isApiError(error, "rate_limited")) return `${error.code} ${error.retryAfterMs}`;
  if (error instanceof ConflictError) return error.code ?? "";
  return isBikeShareError(error) ? error.name : "";
}

export function tell(event: EventRecord): string | null {
  return event.event === "ride.completed" ? event.data.end_station_id : null;
}

export async function receive(body: Uint8Array, header: string | null): Promise<Delivery | string> {
  try {
    return await verify(body, header, "whsec_x");
  } catch (error) {
    return isWebhookVerificationError(error) ? error.reason : sign({ body, secrets: "whsec_x", timestamp: 1 });
  }
}

export const fake = new BikeShare(createFakeBikeShare({ ...sampleCity(), rateLimit: 1000 }).options);
