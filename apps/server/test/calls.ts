import { errorBody, scopeNames } from "@bikeshare/contract";
import { expect } from "vitest";
import type { IssuedKey, IssueInput } from "../src/partners/keys/service.ts";
import type { TestApp } from "./app.ts";
import type { Endpoint } from "./endpoints.ts";
import { operatedSystem, restoreWorld } from "./walker-world.ts";

/** Calls of a walked world's endpoints, each as the contract describes it. */
export interface Calls {
  /** Sends what an endpoint takes. What an earlier call reserved is given back before. */
  send(endpoint: Endpoint, headers?: Record<string, string>, query?: string): Promise<Response>;
  /** Sends a body as it is. */
  sendBody(endpoint: Endpoint, headers: Record<string, string>, body: string | undefined): Promise<Response>;
  /** A key that an endpoint lets in, and no more than that. */
  keyFor(endpoint: Endpoint, input?: Partial<IssueInput>): Promise<IssuedKey>;
  /** Headers of somebody whom an endpoint lets in. Events show only what the key may read: such a key reads all. */
  allowed(endpoint: Endpoint): Promise<Record<string, string>>;
}

export function callsOn(app: TestApp): Calls {
  const keyFor: Calls["keyFor"] = ({ scope }, input = {}) => {
    if (scope === "operator") return app.issue({ systemId: operatedSystem, partnerId: null, scopes: [], ...input });
    const needsNone = scope === "any" || scope === "sandbox" || scope === "none" || scope === "console";
    return app.issue({ scopes: needsNone ? [] : [scope], ...input });
  };
  const sendBody: Calls["sendBody"] = async ({ method, path }, headers, body) => {
    await restoreWorld(app);
    return fetch(app.url + path, { method, headers, ...(body === undefined ? {} : { body }) });
  };
  return {
    keyFor,
    sendBody,
    send: (endpoint, headers = {}, query = endpoint.query) => {
      const { body } = endpoint;
      const called = { ...endpoint, path: endpoint.path + query };
      if (body === undefined) return sendBody(called, headers, undefined);
      return sendBody(called, { "content-type": "application/json", ...headers }, JSON.stringify(body));
    },
    allowed: async (endpoint) => {
      const input = endpoint.scope === "operator" ? {} : { scopes: [...scopeNames] };
      return { authorization: `Bearer ${(await keyFor(endpoint, input)).key}` };
    },
  };
}

/** Holds an answer against what is true of every error; gives its message. */
export async function expectError(response: Response, status: number, error: string): Promise<string> {
  const text = await response.text();
  expect([response.status, text]).toEqual([status, expect.stringContaining(`"${error}"`)]);
  expectAlways(response);
  const body = errorBody.strict().parse(JSON.parse(text));
  expect(text).toBe(JSON.stringify({ error: body.error, message: body.message }));
  expect(body.error).toBe(error);
  expect(body.message).toMatch(/^\S.*[.]$/s);
  return body.message;
}

/** Holds an answer against what is true of every one. */
export function expectAlways(response: Response): void {
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.get("request-id")).toMatch(/^req_\w+$/);
}
