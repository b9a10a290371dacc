import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { statusesFor } from "./answer-rules.ts";
import { contractEndpoints, type FuzzEndpoint } from "./fuzz-endpoints.ts";
import { type FuzzWorld, openFuzzWorld } from "./fuzz-world.ts";
import { identityNames, mayCall } from "./identities.ts";

let world: FuzzWorld;

beforeAll(async () => {
  world = await openFuzzWorld();
});
afterAll(() => world.close());

const guarded = contractEndpoints.filter(
  ({ metadata }) => metadata.scope !== "none" && metadata.console?.audience !== "public",
);

describe.each(guarded)("$method $path", (endpoint) => {
  it("refuses every caller whom the contract does not let in, before it looks at what they sent", async () => {
    const params = { system_id: world.app.systemId, partner_id: world.app.partnerId };
    for (const name of identityNames) {
      const identity = await world.identity(name);
      if (mayCall(identity, endpoint.metadata, params)) continue;
      const response = await call(endpoint, params, identity.headers);
      await response.arrayBuffer();
      expect([name, statusesFor(identity, endpoint.metadata)]).toEqual([
        name,
        expect.arrayContaining([response.status]),
      ]);
    }
  });
});

/** Sends a request that is invalid for everybody. A caller who gets an error about its content was authorised. */
function call(
  { method, path }: FuzzEndpoint,
  params: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const target = path.replaceAll(/:(\w+)/g, (_parameter, name: string) => params[name] ?? "none");
  const hasBody = method !== "GET" && method !== "DELETE";
  const type: Record<string, string> = hasBody ? { "content-type": "application/json" } : {};
  return fetch(`${world.service.url}${target}?unknown=1`, {
    method,
    // With the origin of the service, because requests from another site are refused before anything else is checked.
    headers: { origin: world.service.url, ...headers, ...type },
    ...(hasBody ? { body: '{"unknown":1}' } : {}),
  });
}

it("walks the endpoints of partners, the operator and the console", () => {
  const scopes = new Set(guarded.map(({ metadata }) => metadata.scope));
  expect(guarded.length).toBeGreaterThan(120);
  expect([...scopes]).toEqual(expect.arrayContaining(["any", "operator", "console", "stations:read"]));
});
