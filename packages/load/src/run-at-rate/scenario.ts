import type { Random } from "@bikeshare/simulator";
import type { ApiRequest } from "../contract/endpoints.ts";
import type { Answer } from "../http/client.ts";

/** A request with its credentials. */
export interface OutgoingRequest extends ApiRequest {
  /** Undefined: it is sent without an `Authorization` header. */
  readonly key: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request to be made now, with what may come back. */
export interface Exchange {
  readonly request: OutgoingRequest;
  /** Outcomes that are right: a status (`200`), or a status with the catalogue's code (`409 no_bike_available`). */
  readonly expected: readonly string[];
  /** Takes the answer, whatever it is. @returns what is wrong with it beyond its outcome and its schema */
  readonly onAnswer?: (answer: Answer) => string | undefined;
}

/** What a stream of requests asks for. One instance belongs to one worker, so it needs no locks. */
export interface Scenario {
  /**
   * The request that starts now. A walk whose page is still under way leaves the turn to another one. Undefined: nothing
   * can be asked before an answer comes, so the start is late, and is counted as such.
   */
  next(): Exchange | undefined;
  /** What became apparent over the whole run. */
  finish?(): ScenarioReport;
}

interface ScenarioReport {
  /** What must not have happened, one sentence each. */
  readonly violations?: readonly string[];
  /** Events that the service has acknowledged by its answers: `ride.started <ride id>`. Their webhooks must arrive. */
  readonly acknowledgedEvents?: readonly string[];
}

/** What a scenario works with. Keys and bikes belong to this instance alone: nobody else uses up or moves them. */
export interface ScenarioContext {
  readonly random: Random;
  readonly keys: readonly [string, ...string[]];
  readonly operatorKey: string | undefined;
  readonly world: World;
  readonly bikes: readonly string[];
  /** What a recorded day had happen, in its order; empty for scenarios that make up their own. */
  readonly recorded: readonly RecordedEvent[];
  /** A prefix for ids that no other instance of this or an earlier run uses. */
  readonly idPrefix: string;
}

/** A ride of a recorded day starts or ends. */
export interface RecordedEvent {
  readonly kind: "start" | "end";
  /** Milliseconds from the start of the run. */
  readonly atMs: number;
  readonly rideId: string;
  /** Events of one bike are sent by one worker, in their order. */
  readonly bikeNumber: number;
  readonly bikeId: string;
  readonly stationId: string | null;
}

/** What is known of the service's data before the run. */
export interface World {
  readonly stations: readonly string[];
  readonly bikes: readonly string[];
  /** Pages of the ride list at the default size. */
  readonly ridePages: number;
}

export type CreateScenario = (context: ScenarioContext) => Scenario;

/** A scenario as the command line offers it. */
export interface ScenarioKind {
  readonly description: string;
  readonly create: CreateScenario;
  /** Whether it needs an operator key. */
  readonly needsOperator?: boolean;
  /** Whether it moves bikes, which no other stream may then move. */
  readonly needsBikes?: boolean;
  /** Whether its keys must have the limit that partners have, and be used by nothing else. */
  readonly needsLimitedKeys?: boolean;
}
