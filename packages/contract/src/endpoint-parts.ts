import { z } from "zod";
import type { EndpointMetadata } from "./endpoint.ts";
import { errorBody } from "./errors.ts";
import { identifierParam } from "./identifier.ts";
import type { Scope } from "./scopes.ts";

/** No query parameter is known here; an unknown one is refused by name. */
export const noQuery = z.object({}).strict();
/** The id in a path. */
export const idParam = z.object({ id: identifierParam });

/** Whom an endpoint lets in, and what else is known of it. */
export function needs(scope: Scope | "any" | "none", more: Omit<EndpointMetadata, "scope"> = {}): EndpointMetadata {
  return { scope, ...more };
}

/** What any endpoint that asks for a key may answer beside its success. */
export const errors = {
  400: errorBody,
  401: errorBody,
  403: errorBody,
  405: errorBody,
  429: errorBody,
  500: errorBody,
  503: errorBody,
};
