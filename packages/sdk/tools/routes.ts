import {
  DEFAULT_RATE_LIMIT,
  type EndpointMetadata,
  MAX_PAGE_SIZE,
  partnerContract,
  RATE_WINDOW_SECONDS,
} from "@bikeshare/contract";
import { sandboxContract } from "@bikeshare/contract/sandbox";

/** The parts of an endpoint that the route table uses. */
interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly metadata: EndpointMetadata;
  readonly responses: Readonly<Record<number, unknown>>;
}

type Contract = Readonly<Record<string, Readonly<Record<string, Endpoint>>>>;

/** The file of the route table. */
export const routesFile = new URL("../src/routes.generated.ts", import.meta.url);

const HEAD = `// Every endpoint of the partner API, and its limits.
// Made from packages/contract by \`pnpm --filter @bikeshare/sdk run generate\`. Do not edit here.
`;

/** Returns the text of src/routes.generated.ts, made from the contract. */
export function routesText(): string {
  const nouns = Object.entries(partnerContract as Contract).map(([noun, verbs]) => {
    const routes = Object.entries(verbs).map(([verb, route]) => `    ${verb}: ${routeText(route)},`);
    return `  ${noun}: {\n${routes.join("\n")}\n  },`;
  });
  return `${HEAD}
/** By noun and verb: method and path, the status of a success, and its kind if it is special. */
export const routes = {
${nouns.join("\n")}
} as const;

/** Requests that a key may make in any window by default. */
export const RATE_LIMIT = ${DEFAULT_RATE_LIMIT};
/** Milliseconds of a window. */
export const RATE_WINDOW_MS = ${RATE_WINDOW_SECONDS * 1000};
/** Most items on a page. */
export const MAX_PAGE_SIZE = ${MAX_PAGE_SIZE};
`;
}

/** The file of the sandbox's route table. It is separate, so that bundles without the sandbox do not contain it. */
export const sandboxRoutesFile = new URL("../src/sandbox-routes.generated.ts", import.meta.url);

/** Returns the text of src/sandbox-routes.generated.ts, made from the contract. */
export function sandboxRoutesText(): string {
  const routes = Object.entries<Endpoint>(sandboxContract).map(([verb, route]) => `  ${verb}: ${routeText(route)},`);
  return `// Every endpoint of the sandbox.
// Made from packages/contract by \`pnpm --filter @bikeshare/sdk run generate\`. Do not edit here.

/** By verb: method and path, the status of a success, and its kind if it is special. */
export const sandboxRoutes = {
${routes.join("\n")}
} as const;
`;
}

function routeText({ method, path, metadata, responses }: Endpoint): string {
  // An endpoint has one success, whose status is lower than those of the errors.
  const success = Math.min(...Object.keys(responses).map(Number));
  const operation = `${method} ${path}`;
  if (metadata.scope === "none") return JSON.stringify([operation, success, "open"]);
  // "once": retried after a 429 only, because its effect would happen again.
  const kinds = [...(metadata.idempotent ? ["idempotent"] : []), ...(metadata.repeats ? ["once"] : [])];
  return JSON.stringify([operation, success, ...kinds]);
}
