import { z } from "zod";
import type { ConsoleNeeds, EndpointMetadata } from "../endpoint.ts";
import type { ErrorCode } from "../error-catalogue.ts";
import { errorBody } from "../errors.ts";
import { pagingQuery } from "../paging.ts";
import { identifierParam } from "../values.ts";

/**
 * Returns the metadata of a console endpoint: which callers it accepts. The server enforces this metadata.
 * @param audience `public`: anybody. `person`: anybody who is signed in. `partner`: members of the partner in the path, and
 *   read-only the operator's people. `operator`: the operator's people of the system in the path
 * @param role `admin` for an endpoint that changes something or shows a secret
 */
export function consoleNeeds(
  audience: ConsoleNeeds["audience"],
  role: ConsoleNeeds["role"] = "viewer",
  more: {
    /** The caller must have signed in, or confirmed who they are, within the last minutes. */
    readonly confirmed?: true;
    /** Frames of the operator's portal may call it. Default: true for a partner's endpoints that need no confirmation. */
    readonly embedded?: boolean;
    /** How many requests of the session's rate limit one call costs. Default: 1 for a read, more for a change. */
    readonly cost?: number;
    /** The codes of status 409 that it may answer with. */
    readonly conflicts?: readonly ErrorCode[];
  } = {},
): EndpointMetadata {
  const { confirmed, conflicts, cost, embedded = audience === "partner" && confirmed === undefined } = more;
  return {
    scope: "console",
    console: { audience, role, embedded, ...(confirmed && { confirmed }), ...(cost && { cost }) },
    ...(conflicts && { conflicts }),
  };
}

/** The errors of every console endpoint. */
export const consoleErrors = {
  400: errorBody,
  401: errorBody,
  403: errorBody,
  404: errorBody,
  405: errorBody,
  429: errorBody,
  500: errorBody,
  503: errorBody,
};

/** The further errors of a console endpoint that takes a body. */
export const consoleBodyErrors = { 413: errorBody, 415: errorBody };

/** The errors of a console endpoint that takes a body and may find that something has changed. */
export const changeErrors = { 409: errorBody, ...consoleErrors, ...consoleBodyErrors };

/** The path parameter of the operator's pages. */
export const systemPath = z.object({ system_id: identifierParam });

/** The path parameters of an item on the operator's pages. */
export const systemItemPath = systemPath.extend({ id: identifierParam });

/** The path parameters of a partner's pages. */
export const partnerPath = systemPath.extend({ partner_id: identifierParam });

/** The paging parameters of the console's lists that are read page by page. */
export const consolePageQuery = { limit: pagingQuery.limit, cursor: pagingQuery.cursor };

/** One page of a list of the console. `next_cursor` is absent at the end. */
export function consolePage<Item extends z.ZodTypeAny>(item: Item) {
  return z.object({ data: z.array(item), next_cursor: z.string().min(1).optional() }).strict();
}

/** The response of an endpoint that has nothing to return. */
export const done = z.object({}).strict();
