import type { Export, Scope } from "../src/json-types.generated.ts";
import { createFakeBikeShare, type FakeBikeShare } from "../src/testing.ts";
import type { RideFields, RideStart } from "../src/testing/rides.ts";

/** The service or the fake, with functions that act as its operator. */
export interface ParityHarness {
  readonly baseUrl: string;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Makes a key. By default it belongs to the first partner, with every scope and a limit that no test reaches. */
  key(options?: KeyOptions): Promise<string>;
  /** Does the same as the operator's endpoint of this name, with one item. */
  operate(verb: OperatorVerb, item: OperatorItem): Promise<void>;
  /** Adds a finished export. */
  putExport(file: ExportFacts): Promise<void>;
  /** Resolves when the sums contain everything that has happened. */
  processSums(): Promise<void>;
  /** Resolves when everything that is due has expired, and all events can be read. */
  processDueWork(): Promise<void>;
  /** Moves the clock. It stands still otherwise, and begins at `START` in every harness. */
  advance(ms: number): void;
  close(): Promise<void>;
}

/** An export, without the fields that depend on the harness. */
export type ExportFacts = Omit<Export, "made_at" | "download_url" | "download_expires_at">;

interface KeyOptions {
  readonly scopes?: readonly Scope[];
  readonly rateLimit?: number;
  readonly isOtherPartners?: boolean;
}

export type OperatorItem = Readonly<Record<string, unknown>> & { readonly id: string };
export type OperatorVerb =
  | "stations.upsert"
  | "stations.offline"
  | "stations.online"
  | "stations.remove"
  | "bikes.upsert"
  | "rides.past"
  | "rides.start"
  | "rides.end"
  | "rides.cancel"
  | "rides.correct";

/** The instant at which test clocks begin. */
export const START = Date.parse("2026-06-01T12:00:00.000Z");

/** A limit that no test reaches. */
const NO_LIMIT = 1_000_000;

/** Opens the fake, to be compared with the service. */
export async function openFakeHarness(): Promise<ParityHarness> {
  return harnessOf(createHarnessFake());
}

/** Opens the fake on a port. */
export async function openListeningHarness(): Promise<ParityHarness> {
  const fake = createHarnessFake();
  const { url, close } = await fake.listen();
  return { ...harnessOf(fake), baseUrl: url, fetch: (address, init) => fetch(address, init), close };
}

function createHarnessFake(): FakeBikeShare {
  return createFakeBikeShare({ now: () => START, rateLimit: NO_LIMIT });
}

function harnessOf(fake: FakeBikeShare): ParityHarness {
  return {
    baseUrl: fake.baseUrl,
    fetch: fake.fetch,
    key: async ({ isOtherPartners = false, ...input } = {}) =>
      fake.issueKey({ ...input, ...(isOtherPartners && { partner: { id: "partner_000099", name: "Other" } }) }),
    operate: async (verb, item) => void verbs[verb](fake, item),
    putExport: async (file) => fake.operator.putExport(file),
    processSums: async () => {},
    processDueWork: async () => {},
    advance: (ms) => fake.advance(ms),
    close: async () => {},
  };
}

type Verb = (fake: FakeBikeShare, item: OperatorItem) => unknown;

const verbs: Readonly<Record<OperatorVerb, Verb>> = {
  "stations.upsert": ({ operator }, item) => operator.putStation(item),
  "stations.offline": ({ operator }, { id }) => operator.takeOffline(id),
  "stations.online": ({ operator }, { id }) => operator.bringOnline(id),
  "stations.remove": ({ operator }, { id }) => operator.removeStation(id),
  "bikes.upsert": ({ operator }, item) => operator.putBike(item),
  "rides.past": ({ operator, now }, item) =>
    operator.putRide({ updated_at: new Date(now()).toISOString(), ...item } as RideFields),
  "rides.start": ({ operator }, item) => operator.startRide(item as unknown as RideStart),
  "rides.end": ({ operator }, item) => operator.endRide(item),
  "rides.cancel": ({ operator }, { id }) => operator.cancelRide(id),
  "rides.correct": ({ operator }, item) => operator.correctRide(item),
};
