import type { SandboxScenario, SandboxScenarioName } from "@bikeshare/contract/sandbox";
import type { ActorContext } from "../command-context.ts";
import { issueKey } from "../partners/keys/service.ts";
import { CityActs } from "./acts.ts";
import { setWebhookFaults } from "./faults.ts";
import { requireRoom } from "./service.ts";
import { inTurn } from "./turns.ts";

/** Rides of the scenario `rush-hour` that start and end; half as many more only start. */
const RUSH = 10;
/** How long no delivery reaches the receiver in `receiver-down-then-recovers`. */
const DOWN_MS = 10_000;
/** Lifetime of the key of `key-expires`. */
const KEY_MS = 60_000;
/** Requests in any 60 s of the key of `key-expires`. */
const KEY_RATE_LIMIT = 10;

/** A partner's sandbox. */
interface Sandbox {
  readonly systemId: string;
  readonly partnerId: string;
}

/** Carries out a scenario. Returns the key that it makes; undefined: it makes none. */
type Play = (acts: CityActs, context: ActorContext, sandbox: Sandbox) => Promise<string | undefined>;

/** The commands of each scenario. */
const plays: Readonly<Record<SandboxScenarioName, Play>> = {
  "rush-hour": async (acts) => {
    for (let ride = 0; ride < RUSH; ride++) await acts.ride();
    for (let ride = 0; ride < RUSH / 2; ride++) await acts.startRide(undefined);
    return undefined;
  },
  "station-outage": async (acts) => {
    const id = await acts.otherStation();
    await acts.takeOffline(id, "Without power");
    await acts.bringOnline(id);
    return undefined;
  },
  "bike-breaks-while-reserved": async (acts) => {
    const { bikeId } = await acts.reserve(undefined);
    await acts.reportBike(bikeId, "non_operational");
    return undefined;
  },
  "reservation-expires": async (acts) => {
    // A minute's hold, made 61 s ago, has ended.
    const { id } = await acts.reserve(undefined, { ago: 61_000, minutes: 1 });
    await acts.expireReservation(id);
    return undefined;
  },
  "late-report": async (acts, { clock }) => {
    // The report is dated an hour ago, before the ride that is recorded first.
    const before = clock() - 3_600_000;
    const ride = await acts.ride();
    await acts.reportBike(ride.bikeId, "non_operational", before);
    return undefined;
  },
  "ride-corrected": async (acts) => {
    const ride = await acts.ride();
    await acts.correctRide(ride.id, ride.endStationId);
    return undefined;
  },
  "receiver-down-then-recovers": async (acts, context, { systemId }) => {
    const until = new Date(context.clock() + DOWN_MS).toISOString();
    const faults = { delay: 0, duplicate: false, reorder: false, bad_signature: false, down: true, until };
    await setWebhookFaults(context, systemId, faults);
    acts.steps.push(`no delivery reaches the receiver until ${until}`);
    await acts.ride();
    return undefined;
  },
  "key-expires": async (acts, context, sandbox) => {
    const expiresAt = new Date(context.clock() + KEY_MS);
    const input = { ...sandbox, scopes: ["stations:read"] as const, name: "made by key-expires", expiresAt };
    const { id, key } = await issueKey(context, { ...input, rateLimit: KEY_RATE_LIMIT, madeByPartner: true });
    acts.steps.push(`key ${id} expires at ${expiresAt.toISOString()}`);
    return key;
  },
};

/** Plays a scenario. @throws ServiceError when the sandbox is full, or its city lacks what the scenario needs */
export function playScenario(
  context: ActorContext,
  sandbox: Sandbox,
  scenario: SandboxScenarioName,
): Promise<SandboxScenario> {
  return inTurn(context.db, sandbox.systemId, async () => {
    await requireRoom(context, sandbox.systemId);
    const acts = new CityActs(context, sandbox);
    const key = await plays[scenario](acts, context, sandbox);
    return { scenario, steps: acts.steps, key: key ?? null };
  });
}
