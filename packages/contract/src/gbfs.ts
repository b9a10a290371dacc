import { extendApi } from "@anatine/zod-openapi";
import { initContract } from "@ts-rest/core";
import { z } from "zod";
import type { EndpointMetadata } from "./endpoint.ts";
import { errorBody } from "./errors.ts";
import { identifierParam } from "./identifier.ts";

const c = initContract();

const noQuery = z.object({}).strict();
const feed = z
  .string()
  .describe("A feed's file name, such as `station_status.json`; `gbfs.json` lists those there are");
const system_id = identifierParam.describe("GBFS's `system_id`");
const metadata: EndpointMetadata = { scope: "none" };

/** The envelope that every GBFS document has; what `data` holds is laid down by GBFS's own JSON schemas. */
export const gbfsDocument = extendApi(
  z
    .object({
      last_updated: z.union([z.number().int(), z.string()]).describe("2.3: POSIX seconds. 3.0: RFC 3339"),
      ttl: z.number().int().min(0).describe("Seconds for which the document may be kept"),
      version: z.enum(["2.3", "3.0"]),
      data: z.object({}).passthrough(),
    })
    .strict()
    .describe("A GBFS document. Its `data` follows GBFS's own schema of that feed."),
  { title: "GbfsDocument" },
);

export type GbfsDocument = z.infer<typeof gbfsDocument>;

const responses = {
  200: gbfsDocument,
  // The caller has the document already. (ts-rest's own `noBody` cannot be shared between endpoints: its type gets lost.)
  304: z.undefined(),
  400: errorBody,
  403: errorBody,
  404: errorBody,
  405: errorBody,
  429: errorBody,
  500: errorBody,
  503: errorBody,
};

/**
 * The public GBFS feeds, made from the live state. A path without a system's id means the deployment's first
 * system. Answers carry `ETag`, `Last-Modified` and `Cache-Control: public`, and any web page may read them.
 */
export const gbfsContract = c.router(
  {
    versions: {
      method: "GET",
      path: "/gbfs/gbfs_versions.json",
      summary: "GBFS versions",
      metadata,
      query: noQuery,
      responses,
    },
    feed23: {
      method: "GET",
      path: "/gbfs/2.3/:feed",
      summary: "A GBFS 2.3 feed",
      metadata,
      pathParams: z.object({ feed }),
      query: noQuery,
      responses,
    },
    feed30: {
      method: "GET",
      path: "/gbfs/3.0/:feed",
      summary: "A GBFS 3.0 feed",
      metadata,
      pathParams: z.object({ feed }),
      query: noQuery,
      responses,
    },
    versionsOfSystem: {
      method: "GET",
      path: "/gbfs/:system_id/gbfs_versions.json",
      summary: "GBFS versions of a system",
      metadata,
      pathParams: z.object({ system_id }),
      query: noQuery,
      responses,
    },
    feed23OfSystem: {
      method: "GET",
      path: "/gbfs/:system_id/2.3/:feed",
      summary: "A GBFS 2.3 feed of a system",
      metadata,
      pathParams: z.object({ system_id, feed }),
      query: noQuery,
      responses,
    },
    feed30OfSystem: {
      method: "GET",
      path: "/gbfs/:system_id/3.0/:feed",
      summary: "A GBFS 3.0 feed of a system",
      metadata,
      pathParams: z.object({ system_id, feed }),
      query: noQuery,
      responses,
    },
  },
  { strictStatusCodes: true },
);
