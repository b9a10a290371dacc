import type { Scope } from "./scopes.ts";

/**
 * What an endpoint asks of its caller: the metadata of every route in the contract. The server enforces it, and
 * the documents and test walkers are derived from it; no second list exists.
 */
export interface EndpointMetadata {
  /** A scope's name; `any`: a key with whatever scopes; `none`: no key at all. */
  readonly scope: Scope | "any" | "none";
}
