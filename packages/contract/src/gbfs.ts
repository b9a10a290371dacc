import { initContract } from "@ts-rest/core";
import { z } from "zod";
import { type EndpointMetadata, noQuery } from "./endpoint.ts";
import { errorBody } from "./errors.ts";
import type { GbfsVersion } from "./gbfs/types.ts";
import { namedObject } from "./named-object.ts";
import { givenOnce, textOf } from "./values.ts";

const c = initContract();

/** The versions in which systems are published, oldest first. */
export const publishedGbfsVersions = ["2.3", "3.0", "3.1-RC3"] as const satisfies readonly GbfsVersion[];

export type PublishedGbfsVersion = (typeof publishedGbfsVersions)[number];

/** The versions in addresses. `v2` and `v3` mean the newest final 2.x and 3.x, so these addresses stay over time. */
export const gbfsVersionPaths: ReadonlyMap<string, PublishedGbfsVersion> = new Map<string, PublishedGbfsVersion>([
  ...publishedGbfsVersions.map((version) => [version, version] as const),
  ["v2", "2.3"],
  ["v3", "3.0"],
]);

const feed = z.string().describe("A feed's file name, such as `station_status.json`; `gbfs.json` lists all of them");
const system_id = textOf("identifier", { ...givenOnce(), description: "GBFS's `system_id`" });
const version = z.string().describe(`The GBFS version: ${[...gbfsVersionPaths.keys()].join(", ")}`);
const language = z.string().describe("One of the languages in `gbfs.json`");
const metadata: EndpointMetadata = { scope: "none" };

/** The envelope of every GBFS document; GBFS's own JSON schemas define `data`. */
export const gbfsDocument = namedObject(
  "GbfsDocument",
  "A GBFS document. Its `data` follows GBFS's own schema of that feed.",
  {
    last_updated: z.union([z.number().int(), z.string()]).describe("2.3: POSIX seconds. Since 3.0: RFC 3339"),
    ttl: z.number().int().min(0).describe("Seconds for which the document may be cached"),
    version: z.enum(publishedGbfsVersions),
    data: z.object({}).passthrough(),
  },
);

export type GbfsDocument = z.infer<typeof gbfsDocument>;

const responses = {
  200: gbfsDocument,
  // The caller already has the current document. (ts-rest's `noBody` loses its type in a constant that endpoints share.)
  304: z.undefined(),
  400: errorBody,
  403: errorBody,
  404: errorBody,
  405: errorBody,
  410: errorBody,
  429: errorBody,
  500: errorBody,
  503: errorBody,
};

function feedEndpoint<const Path extends `/gbfs/${string}`, Parameters extends z.ZodRawShape>(
  path: Path,
  summary: string,
  parameters: Parameters,
) {
  return {
    method: "GET",
    path,
    summary,
    metadata,
    pathParams: z.object(parameters),
    query: noQuery,
    responses,
  } as const;
}

/**
 * The public GBFS feeds, made from the current state. A path without a system's id means the deployment's first
 * system. Responses carry `ETag`, `Last-Modified` and `Cache-Control: public`, and any web page may read them.
 */
export const gbfsContract = c.router(
  {
    versions: feedEndpoint("/gbfs/gbfs_versions.json", "GBFS versions", {}),
    // `feed` covers the next two as well. As endpoints of their own, they are in the OpenAPI document with their paths.
    feed23: feedEndpoint("/gbfs/2.3/:feed", "A GBFS 2.3 feed", { feed }),
    feed30: feedEndpoint("/gbfs/3.0/:feed", "A GBFS 3.0 feed", { feed }),
    feed: feedEndpoint("/gbfs/:version/:feed", "A GBFS feed of any version", { version, feed }),
    versionsOfSystem: feedEndpoint("/gbfs/:system_id/gbfs_versions.json", "GBFS versions of a system", { system_id }),
    feed23OfSystem: feedEndpoint("/gbfs/:system_id/2.3/:feed", "A GBFS 2.3 feed of a system", { system_id, feed }),
    feed30OfSystem: feedEndpoint("/gbfs/:system_id/3.0/:feed", "A GBFS 3.0 feed of a system", { system_id, feed }),
    feedOfSystem: feedEndpoint("/gbfs/:system_id/:version/:feed", "A GBFS feed of a system in any version", {
      system_id,
      version,
      feed,
    }),
    feedInLanguage: feedEndpoint(
      "/gbfs/:system_id/:version/:language/:feed",
      "A GBFS 2.3 feed of a system, in a language other than its main one",
      { system_id, version, language, feed },
    ),
  },
  { strictStatusCodes: true },
);
