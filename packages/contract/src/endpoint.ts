import type { ErrorCode } from "./error-catalogue.ts";
import type { Scope } from "./scopes.ts";

/**
 * What an endpoint asks of its caller: the metadata of every route in the contract. The server enforces it, and
 * the documents and test walkers are derived from it; no second list exists.
 */
export interface EndpointMetadata {
  /** A scope's name; `any`: a partner's key with whatever scopes; `operator`: an operator key; `none`: no key at all. */
  readonly scope: Scope | "any" | "operator" | "none";
  /** Whether it answers over plain HTTP from anywhere: what probes ask, and nobody has to keep secret. */
  readonly plainHttp?: boolean;
  /** Whether it takes an `Idempotency-Key`. */
  readonly idempotent?: boolean;
  /** The codes of status 409 that it may answer with. */
  readonly conflicts?: readonly ErrorCode[];
  /** Of a batch: the codes that a single item may fail with. */
  readonly itemErrors?: readonly ErrorCode[];
}
