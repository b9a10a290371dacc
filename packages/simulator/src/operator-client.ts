import {
  type BatchResult,
  batchResults,
  type Bike,
  bikeList,
  type BikeReport,
  type BikeUpsert,
  errorBody,
  MAX_PAGE_SIZE,
  type Ride,
  type RideCancel,
  type RideEnd,
  rideList,
  type RideStart,
  type Station,
  type StationCommand,
  type StationOffline,
  stationList,
  type StationUpsert,
} from "@bikeshare/contract";

/* The simulator's two ways to the service: commands in batches with the operator's key, and reading with a partner's key. */

/** The items that the operator interface accepts, by path under /operator/v1. */
interface Items {
  readonly stations: StationUpsert;
  readonly "stations/offline": StationOffline;
  readonly "stations/online": StationCommand;
  readonly bikes: BikeUpsert;
  readonly "bikes/reports": BikeReport;
  readonly "rides/start": RideStart;
  readonly "rides/end": RideEnd;
  readonly "rides/cancel": RideCancel;
}

/** One item for a batch of the operator interface. */
export type Command<Paths extends keyof Items = keyof Items> = {
  readonly [Path in Paths]: {
    readonly path: Path;
    readonly item: Items[Path];
    /**
     * The bike or station that the item is about. Commands about the same one arrive in the order in which they were sent.
     */
    readonly subjectId: string;
  };
}[Paths];

/** Called with the result of each command. */
export type OnAnswer = (command: Command, result: BatchResult) => void;

/** The outcome of sending a batch. */
export type Answer =
  | { readonly kind: "done"; readonly results: readonly BatchResult[] }
  /** The batch may or may not have been done. Send the same request again, after `afterMs` if the service names a time. */
  | { readonly kind: "retry"; readonly reason: string; readonly afterMs: number | undefined }
  /** The batch as a whole is wrong. Sending it again does not help. */
  | { readonly kind: "rejected"; readonly reason: string };

/** Sends one batch to the operator interface. Never throws. */
export type PostBatch = (path: string, items: readonly unknown[], idempotencyKey: string) => Promise<Answer>;

/** Timeout of a request. A service that is stopping answers its open requests within this time. */
const REQUEST_TIMEOUT_MS = 20_000;

/** Calls the operator interface of a service. */
export function createOperatorClient(baseUrl: string, operatorKey: string): PostBatch {
  const headers = { authorization: `Bearer ${operatorKey}`, "content-type": "application/json" };
  return async (path, items, idempotencyKey) => {
    try {
      const response = await fetch(`${baseUrl}/operator/v1/${path}`, {
        method: "POST",
        headers: { ...headers, "idempotency-key": idempotencyKey },
        body: JSON.stringify({ items }),
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      const body: unknown = await response.json();
      if (response.status === 200) return { kind: "done", results: batchResults.parse(body).results };
      return failedAnswer(response, body);
    } catch (error) {
      // There was no connection, or it broke, or the request timed out, or the body was not what the contract says.
      return { kind: "retry", reason: reasonOf(error), afterMs: undefined };
    }
  };
}

function failedAnswer(response: Response, body: unknown): Answer {
  const parsed = errorBody.safeParse(body);
  const reason = parsed.success ? `${parsed.data.error}: ${parsed.data.message}` : `status ${response.status}`;
  const isTransient =
    response.status >= 500 ||
    response.status === 429 ||
    (parsed.success && parsed.data.error === "idempotency_in_progress");
  if (!isTransient) return { kind: "rejected", reason };
  const seconds = response.headers.get("retry-after");
  return { kind: "retry", reason, afterMs: seconds === null ? undefined : Number(seconds) * 1000 };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

/** The stations, bikes and rides that the service has already, as it shows them to a partner. */
export interface ObservedCity {
  readonly stations: ReadonlyMap<string, Station>;
  readonly bikes: ReadonlyMap<string, Bike>;
  /** Rides under way. */
  readonly rides: readonly Ride[];
}

/** A schema of the contract for one page of a list. */
interface PageSchema<Item> {
  parse(body: unknown): { readonly data: Item[]; readonly next_cursor?: string | undefined };
}

/** Reads a whole system with a partner's key. @throws when the service answers with an error */
export async function readCity(baseUrl: string, partnerKey: string): Promise<ObservedCity> {
  const read = <Item>(path: string, schema: PageSchema<Item>) => readList(`${baseUrl}${path}`, partnerKey, schema);
  const stations = await read("/v1/stations", stationList);
  const bikes = await read("/v1/bikes", bikeList);
  const rides = await read("/v1/rides?status=started", rideList);
  return {
    stations: new Map(stations.map((station) => [station.id, station])),
    bikes: new Map(bikes.map((bike) => [bike.id, bike])),
    rides,
  };
}

async function readList<Item>(address: string, key: string, schema: PageSchema<Item>): Promise<Item[]> {
  const items: Item[] = [];
  const url = new URL(address);
  url.searchParams.set("limit", String(MAX_PAGE_SIZE));
  for (;;) {
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
    if (!response.ok) throw new Error(`GET ${url.pathname}: ${response.status} ${await response.text()}`);
    const page = schema.parse(await response.json());
    items.push(...page.data);
    if (page.next_cursor === undefined) return items;
    url.searchParams.set("cursor", page.next_cursor);
  }
}
