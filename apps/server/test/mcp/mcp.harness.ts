import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect } from "vitest";

/** One revision of MCP of each kind: with an initialisation handshake, and without one. */
export const revisions = ["2025-11-25", "2026-07-28"] as const;
export type Revision = (typeof revisions)[number];

/** Connects the official client with a key. */
export async function connect(url: string, key: string, revision: Revision = "2026-07-28"): Promise<Client> {
  const mode = revision === "2026-07-28" ? { pin: revision } : "legacy";
  const client = new Client({ name: "test", version: "1.0.0" }, { versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", url), { requestInit }));
  return client;
}

/** The result of a tool call. */
export interface Called {
  readonly isError: boolean;
  readonly text: string;
  readonly data: Record<string, unknown>;
}

/** Calls a tool with the client, which checks the result against the schema that the service has published. */
export async function callTool(client: Client, name: string, args: Record<string, unknown> = {}): Promise<Called> {
  const { isError, content, structuredContent = {} } = await client.callTool({ name, arguments: args });
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  return { isError: isError === true, text, data: structuredContent as Record<string, unknown> };
}

/** Returns a matcher for strings that contain a text. */
export function containing(text: string): unknown {
  return expect.stringContaining(text);
}

/** Returns a JSON-RPC message of revision 2026-07-28. */
export function message(method: string, params: Record<string, unknown> = {}, id: unknown = 1) {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return { jsonrpc: "2.0", id, method, params: { _meta: meta, ...params } };
}

/** The body of a response: a JSON-RPC message, or an error of the service. */
interface RpcBody {
  readonly result?: Record<string, unknown>;
  readonly error?: string | { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** Returns the code of a JSON-RPC error. */
export function codeOf(body: RpcBody | undefined): number | undefined {
  return typeof body?.error === "object" ? body.error.code : undefined;
}

/** POSTs a body to /mcp. */
export async function post(
  url: string,
  key: string | undefined,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; body: RpcBody | undefined }> {
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...headers,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === "" ? undefined : (JSON.parse(text) as RpcBody),
  };
}

/** The headers with which a client of 2026-07-28 sends a message. */
export function modernHeaders(method: string, name?: string): Record<string, string> {
  return {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    ...(name !== undefined && { "mcp-name": name }),
  };
}
