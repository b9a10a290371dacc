import type { Random } from "@bikeshare/simulator";
import type { ApiRequest } from "../contract/endpoints.ts";
import type { Answer } from "../http/client.ts";

/** A request with its credentials. */
export interface OutgoingRequest extends ApiRequest {
  /** Undefined: it is sent without an `Authorization` header. */
  readonly key: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that is to be sent now, and its expected answers. */
export interface Exchange {
  readonly request: OutgoingRequest;
  /** The expected outcomes: a status (`200`), or a status with an error code (`409 no_bike_available`). */
  readonly expected: readonly string[];
  /** Called with every answer. @returns what is wrong with the answer, apart from its outcome and its schema */
  readonly onAnswer?: (answer: Answer) => string | undefined;
}

/** Makes the requests of a stream. Each worker has its own instance. */
export interface Scenario {
  /**
   * Returns the request that starts now. Undefined: the scenario cannot send a request before an answer comes. Then the
   * request starts late, and its latency includes the delay.
   */
  next(): Exchange | undefined;
  /** Returns what the scenario found over the whole run. */
  finish?(): ScenarioReport;
}

interface ScenarioReport {
  /** What went wrong, one sentence each. */
  readonly violations?: readonly string[];
  /** Events whose cause the service has acknowledged, such as `ride.started <ride id>`. Their webhooks must arrive. */
  readonly acknowledgedEvents?: readonly string[];
}

/**
 * What a scenario works with. No other instance moves its bikes. No other instance of the same stream uses its keys,
 * unless there are too few; other streams may use them.
 */
export interface ScenarioContext {
  readonly random: Random;
  readonly keys: readonly [string, ...string[]];
  readonly operatorKey: string | undefined;
  readonly world: World;
  readonly bikes: readonly string[];
  /** The events of a recorded day, in their order. Only the scenario `replay` has some. */
  readonly recorded: readonly RecordedEvent[];
  /** A prefix for ids that no other instance of this or an earlier run uses. */
  readonly idPrefix: string;
}

/** The start or the end of a ride on a recorded day. */
export interface RecordedEvent {
  readonly kind: "start" | "end";
  /** Milliseconds from the start of the run. */
  readonly atMs: number;
  readonly rideId: string;
  /** The bike's number. It selects the worker, so that one worker sends all events of a bike in their order. */
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
  /** Whether it moves bikes. Then it gets bikes that no other stream moves. */
  readonly needsBikes?: boolean;
  /** Whether partners must receive the webhooks of its rides, so that it can be checked that all arrive. */
  readonly needsSubscribers?: boolean;
  /** Whether its keys must have a partner's usual rate limit, and must not be used by anything else. */
  readonly needsLimitedKeys?: boolean;
}
