import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { type Delivery, SIGNATURE_HEADER, verify } from "@bikeshare/webhooks";
import { createDeliveryLedger, type DeliveryLedger } from "./delivery-ledger.ts";

/*
 * Plays the partners' webhook receivers in load tests and benches: accepts deliveries, verifies their signatures, and keeps
 * a ledger of what arrived. receiver-process.ts runs it in a process of its own.
 */

/** The behaviour of partners' receivers. */
export interface ReceiverOptions {
  /** Loopback addresses, each a separate origin, as partners' receivers have. Default: one. */
  readonly origins?: number;
  /** Milliseconds before each answer. */
  readonly answerMs?: number;
  /** Accepts every request and never answers. */
  readonly isHanging?: boolean;
  /** Stores when each body arrived, for `takeArrivals`. */
  readonly keepsArrivals?: boolean;
}

/** The partners' receivers. Endpoint `n` has the path `/<n>`, and endpoints are distributed over the origins in turn. */
export interface Receiver {
  readonly urls: readonly string[];
  urlOf(endpoint: number): string;
  /**
   * Sets the secret of each endpoint. Later deliveries are verified and stored in the ledger; earlier ones are only
   * counted.
   */
  useSecrets(secrets: readonly string[]): void;
  readonly ledger: DeliveryLedger;
  /** Clears the ledger and the count of requests. */
  begin(): void;
  /** Returns the number of requests since the last `begin`. */
  count(): number;
  /** Returns the bodies since the last call, each with its arrival (milliseconds since 1970). */
  takeArrivals(): (readonly [body: string, at: number])[];
  /**
   * Makes one request in three fail: half of them with 500, half without an answer. Failed requests are not in the
   * ledger, because the partner did not accept them.
   */
  fail(isFailing: boolean): void;
  close(): Promise<void>;
}

/** Starts receivers in this process. */
export async function openReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const { origins = 1 } = options;
  const state: State = { ledger: createDeliveryLedger(), arrivals: [], secrets: [], count: 0, isFailing: false };
  const servers = Array.from({ length: origins }, () => openServer(options, state));
  const urls = await Promise.all(servers.map(listen));
  return {
    urls,
    urlOf: (endpoint) => `${urls[endpoint % origins]}/${endpoint}`,
    useSecrets: (given) => void (state.secrets = given),
    get ledger() {
      return state.ledger;
    },
    begin: () => void Object.assign(state, { ledger: createDeliveryLedger(), count: 0 }),
    count: () => state.count,
    takeArrivals: () => state.arrivals.splice(0),
    fail: (isFailing) => void (state.isFailing = isFailing),
    async close() {
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}

interface State {
  ledger: DeliveryLedger;
  readonly arrivals: (readonly [body: string, at: number])[];
  secrets: readonly string[];
  count: number;
  isFailing: boolean;
}

function openServer({ answerMs = 0, isHanging = false, keepsArrivals = false }: ReceiverOptions, state: State): Server {
  // Without timeouts it keeps the connection open for longer than any attempt lasts.
  if (isHanging)
    return Object.assign(
      createServer(() => undefined),
      { requestTimeout: 0, headersTimeout: 0 },
    );
  return createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const answer = async () => {
      const status = await receive(request, state, keepsArrivals);
      if (answerMs > 0) await sleep(answerMs);
      if (status === undefined) response.destroy();
      else response.writeHead(status).end();
    };
    answer().catch((error: unknown) => response.destroy(error as Error));
  });
}

/** @returns the status of the answer; undefined: the connection breaks */
async function receive(request: IncomingMessage, state: State, keepsArrivals: boolean): Promise<number | undefined> {
  const body = await buffer(request);
  // Unlike `Date.now()`, this has fractions of a millisecond.
  const receivedAt = performance.timeOrigin + performance.now();
  state.count++;
  if (keepsArrivals) state.arrivals.push([body.toString(), receivedAt]);
  if (state.isFailing && Math.random() < 1 / 3) return Math.random() < 0.5 ? 500 : undefined;
  if (state.secrets.length === 0) return 204;
  const endpoint = Number(request.url?.slice(1));
  try {
    const header = request.headers[SIGNATURE_HEADER.toLowerCase()];
    // An unknown endpoint has no secret. The text in its place makes the verification fail.
    const delivery = await verify(body, header, state.secrets[endpoint] ?? "no such endpoint");
    state.ledger.received({ endpoint, receivedAt, ...factsOf(delivery) });
    return 204;
  } catch (error) {
    state.ledger.unverified(String(error));
    return 400;
  }
}

/** Listens on the loopback address with this index: from 1 to 250 in each of 127.0.0.*, 127.0.1.*, … */
async function listen(server: Server, index: number): Promise<string> {
  server.listen(0, `127.0.${Math.floor(index / 250)}.${(index % 250) + 1}`);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The receiver listens on no port.");
  return `http://${address.address}:${address.port}`;
}

function factsOf({ event, delivery_id: deliveryId, occurred_at, sent_at, data }: Delivery) {
  const { id: subjectId = "" } = data as { id?: string };
  return { event, deliveryId, subjectId, occurredAt: Date.parse(occurred_at), sentAt: Date.parse(sent_at) };
}
