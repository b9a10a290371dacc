import { setTimeout } from "node:timers/promises";
import { type Reservation, reservation as reservationSchema } from "@bikeshare/contract";
import { createRandom, type Random } from "@bikeshare/simulator";

/** What a client was promised. */
export interface Promised {
  readonly reservation: Reservation;
  /** The service acknowledged that the client cancelled it. */
  cancelled: boolean;
}

/** What the clients of one partner were promised, and what went wrong. */
export interface ClientLedger {
  readonly promised: Map<string, Promised>;
  readonly counts: { holds: number; cancels: number; refused: number; retries: number; replays: number };
  readonly failures: string[];
}

export function createClientLedger(): ClientLedger {
  return {
    promised: new Map(),
    counts: { holds: 0, cancels: 0, refused: 0, retries: 0, replays: 0 },
    failures: [],
  };
}

export interface ClientOptions {
  readonly base: string;
  readonly key: string;
  readonly name: string;
  readonly seed: number;
  /** The longest pause between two requests. */
  readonly maxPauseMs: number;
  readonly stationIds: readonly [string, ...string[]];
  readonly ledger: ClientLedger;
  readonly signal: AbortSignal;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly replayed: boolean;
}

/** Error codes that are normal in a busy city. */
const EXPECTED = new Set(["no_bike_available", "station_offline", "rider_has_active_reservation"]);

/** Of the holds. The others end a bike's hold by expiring, so that busy clients do not take every bike of the city. */
const CANCELLED_SHARE = 0.9;

/** Holds and cancels until the signal, each request with a key of its own, repeated until it is answered. */
export async function runClient(options: ClientOptions): Promise<void> {
  const random = createRandom(options.seed);
  const pause = () => setTimeout(random.between(0, options.maxPauseMs));
  for (let n = 0; !options.signal.aborted; n++) {
    const held = await hold(options, random, n);
    await pause();
    if (held !== undefined && random.next() < CANCELLED_SHARE) await cancel(options, held);
    await pause();
  }
}

async function hold(options: ClientOptions, random: Random, n: number): Promise<Promised | undefined> {
  const { ledger, name, stationIds } = options;
  const body = {
    station_id: random.pick(stationIds),
    // Riders come back, some while they still hold a bike.
    rider_ref: `${name}-rider-${random.between(1, 40)}`,
    hold_minutes: random.between(1, 2),
  };
  const post = () => send(options, "POST", "/v1/reservations", body, `${name}-${n}`);
  // Now and then an impatient client asks twice at once: one reservation all the same.
  const answers = await Promise.all(random.next() < 0.1 ? [post(), post()] : [post()]);
  ledger.counts.replays += answers.filter(({ replayed }) => replayed).length;
  const accepted = answers.filter(({ status }) => status === 201);
  // A request that was refused stores no key: the one beside it may still be accepted.
  const [answer, twin] = accepted;
  if (answer !== undefined && twin !== undefined && idOf(twin) !== idOf(answer)) {
    ledger.failures.push(`${name}-${n}: asked twice, answered ${JSON.stringify([answer.body, twin.body])}`);
  }
  for (const refused of answers.filter((each) => !accepted.includes(each))) {
    if (!EXPECTED.has(errorOf(refused)))
      ledger.failures.push(`POST: ${refused.status} ${JSON.stringify(refused.body)}`);
  }
  if (answer === undefined) {
    ledger.counts.refused++;
    return undefined;
  }
  const promised = { reservation: reservationSchema.parse(answer.body), cancelled: false };
  ledger.promised.set(promised.reservation.id, promised);
  ledger.counts.holds++;
  return promised;
}

async function cancel(options: ClientOptions, promised: Promised): Promise<void> {
  const { counts, failures } = options.ledger;
  const answer = await send(options, "DELETE", `/v1/reservations/${promised.reservation.id}`, undefined, undefined);
  if (answer.status === 200) {
    promised.cancelled = true;
    counts.cancels++;
  } else if (errorOf(answer) !== "reservation_not_active") {
    failures.push(`DELETE: ${answer.status} ${JSON.stringify(answer.body)}`);
  }
}

/** Sends a request until somebody answers it. */
async function send(
  { base, key, ledger }: ClientOptions,
  method: string,
  path: string,
  body: unknown,
  idempotencyKey: string | undefined,
): Promise<Answer> {
  const headers: Record<string, string> = { authorization: `Bearer ${key}` };
  if (body !== undefined) headers["content-type"] = "application/json";
  if (idempotencyKey !== undefined) headers["idempotency-key"] = idempotencyKey;
  for (;;) {
    try {
      const response = await fetch(base + path, {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(10_000),
      });
      const answer: Answer = {
        status: response.status,
        body: await response.json(),
        replayed: response.headers.get("idempotent-replayed") === "true",
      };
      if (answer.status < 500 && errorOf(answer) !== "idempotency_in_progress") return answer;
    } catch {
      // It is down: it comes back.
    }
    ledger.counts.retries++;
    await setTimeout(200);
  }
}

function idOf({ body }: Answer): unknown {
  return (body as { id?: unknown }).id;
}

function errorOf({ body }: Answer): string {
  return (body as { error?: string }).error ?? "";
}
