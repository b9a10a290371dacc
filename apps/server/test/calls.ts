import { errorBody, scopeNames } from "@bikeshare/contract";
import { expect } from "vitest";
import type { IssuedKey, IssueInput } from "../src/partners/keys/service.ts";
import type { TestApp } from "./app.ts";
import type { Endpoint } from "./endpoints.ts";
import { operatedSystem, restoreWorld } from "./walker-world.ts";

/** Calls the endpoints of a filled service (`walker-world.ts`) as the contract describes them. */
export interface Calls {
  /** Sends a valid request to an endpoint. First undoes what earlier calls have reserved. */
  send(endpoint: Endpoint, headers?: Record<string, string>, query?: string): Promise<Response>;
  /** Sends a request with exactly this body. */
  sendBody(endpoint: Endpoint, headers: Record<string, string>, body: string | undefined): Promise<Response>;
  /** Creates a key with exactly the scope that an endpoint needs. */
  keyFor(endpoint: Endpoint, input?: Partial<IssueInput>): Promise<IssuedKey>;
  /**
   * Returns the headers of an authorised caller: with an operator's key for the operator's endpoints, otherwise with a key
   * that has every scope, because events are shown only to keys that may read their resource.
   */
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

/** Expects what is true of every error response. @returns the message of the error */
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

/** Expects what is true of every response. */
export function expectAlways(response: Response): void {
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.get("request-id")).toMatch(/^req_\w+$/);
}
