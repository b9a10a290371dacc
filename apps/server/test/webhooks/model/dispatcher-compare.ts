import { statement } from "../../../src/storage/db/statement.ts";
import { showEndpoint } from "../../../src/webhooks/endpoints/endpoint-view.ts";
import { until } from "../../until.ts";
import type { DispatchHarness } from "../dispatcher.harness.ts";
import type { Process } from "../process.ts";
import { type Delivery, isDue } from "./delivery.ts";
import { takeStep, type World } from "./world.ts";

/**
 * Most deliveries in a run. With more, the dispatcher would claim more than it sends at once, which the model does not
 * describe.
 */
export const MAX_DELIVERIES = 10;

/** The two compared sides: the database with a real dispatcher, and the model with the rules. */
export interface Sides {
  readonly harness: DispatchHarness;
  readonly systemId: string;
  readonly partnerId: string;
  readonly world: World;
  readonly process: Process;
}

interface Stored {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly tries: number | null;
  readonly due_at: Date | null;
  readonly claim: number | null;
}
const stored = statement(
  "test.model.stored",
  `select delivery.id, delivery.status, delivery.attempts, due.tries, due.due_at, due.claim
   from webhook_deliveries delivery
   left join webhook_queue due on due.system_id = $1 and due.delivery_id = delivery.id
   where delivery.system_id = $1`,
);

/** Reads the rows of all deliveries. */
export function storedDeliveries({ harness, systemId }: Pick<Sides, "harness" | "systemId">): Promise<Stored[]> {
  return harness.db.query<Stored>(stored, [systemId]);
}

/** Waits until the dispatcher has done everything that the rules require. @throws Error if both sides differ */
export async function agreed(sides: Sides): Promise<void> {
  const { harness, world, process } = sides;
  const { count, gate, reads, dispatcher } = process;
  world.now = harness.clock();
  await until(() => count.written + gate.waiting.length === count.sent);
  const before = reads.begun;
  dispatcher.reload();
  let difference = "";
  await until(async () => {
    if (reads.finished <= before) return false;
    noteClaims(sides);
    difference = await differenceOf(sides);
    return difference === "";
  }).catch((error: unknown) => {
    throw new Error(difference, { cause: error });
  });
}

/**
 * Claims in the model each delivery that the dispatcher has sent. Expects that it was due and within the limit of requests
 * under way.
 */
function noteClaims({ world, process }: Sides): void {
  for (const { deliveryId: id } of process.gate.waiting) {
    if (world.deliveries.get(id)?.underWay === true) continue;
    if (takeStep(world, { do: "claim", id }) === "refused") throw new Error(`${id} must not be sent now`);
  }
}

async function differenceOf(sides: Sides): Promise<string> {
  const { harness, world, process, systemId, partnerId } = sides;
  const { status } = await showEndpoint(harness, { systemId, partnerId });
  if (status !== world.status) return `the endpoint is ${status}, not ${world.status}`;
  const all = [...world.deliveries.values()];
  const underWay = all.filter((delivery) => delivery.underWay).length;
  const due = countSendable(all, world.now);
  const free = { active: MAX_DELIVERIES, probing: 1, paused: 0 }[world.status] - underWay;
  if (due > 0 && free > 0) return `${due} are due and not sent`;
  const { length: inFlight } = process.gate.waiting;
  if (inFlight !== underWay) return `${inFlight} are in flight, not ${underWay}`;
  const rows = await storedDeliveries(sides);
  for (const row of rows) {
    const wanted = describeDelivery(world, row.id);
    if (describeRow(row) !== wanted) return `${row.id} is ${describeRow(row)}, not ${wanted}`;
  }
  return rows.length === world.deliveries.size ? "" : `${rows.length} deliveries, not ${world.deliveries.size}`;
}

/**
 * Returns how many deliveries may be sent now. A delivery during whose attempts two processes have ended is sent alone: one
 * at a time, and none while deliveries that have ended one process are due or being sent.
 */
function countSendable(all: readonly Delivery[], now: number): number {
  const isAlone = ({ crashes }: Delivery) => crashes >= 2;
  const due = all.filter((delivery) => isDue(delivery, now));
  const tried = all.filter((delivery) => delivery.underWay && delivery.crashes > 0);
  const fresh = due.filter(({ crashes }) => crashes === 0).length;
  const together = due.filter(({ crashes }) => crashes === 1).length;
  if (tried.some(isAlone)) return fresh;
  if (together > 0 || tried.length > 0) return fresh + together;
  return fresh + Math.min(1, due.filter(isAlone).length);
}

function describeRow({ status, attempts, tries, due_at: dueAt, claim }: Stored): string {
  return describe(status, attempts, dueAt === null ? null : [dueAt, tries ?? 0, claim !== null]);
}

function describeDelivery({ deliveries }: World, id: string): string {
  const delivery = deliveries.get(id);
  if (delivery === undefined) return "not known";
  const { state, attempts, tries, dueAt, underWay } = delivery;
  return describe(state, attempts, dueAt === null ? null : [new Date(dueAt), tries, underWay]);
}

function describe(
  state: string,
  attempts: number,
  queued: readonly [due: Date, tries: number, claimed: boolean] | null,
) {
  const said = `${state} after ${attempts}`;
  if (queued === null) return said;
  const [due, tries, claimed] = queued;
  return `${said}, due ${due.toISOString()}, ${tries} tries${claimed ? ", claimed" : ""}`;
}
