import { type ErrorBody, errorCatalogue, errorMessage, isPathStep } from "@bikeshare/contract";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { describeIssues } from "../../issues.ts";
import { type InnerRequest, makeInnerRequest } from "../inner-requests.ts";
import type { DescribedTool } from "./describe-tools.ts";
import type { Params } from "./protocol.rules.ts";
import { type Answer, type Args, DEFAULT_ITEMS, MAX_ITEMS } from "./tools.ts";

/*
 * Calls a tool of an agent: makes an inner request to the tool's endpoint (inner-requests.ts) and turns the answer into the
 * tool's result. Where a function returns a text instead of an object, the text says why the call is refused.
 */

/**
 * Maximum characters of an answer. Too low: long lists need more calls. Too high: one answer fills a model's context.
 */
const MAX_ANSWER_LENGTH = 100_000;

/** Maximum characters of an argument. Cursors are the longest useful ones. */
const MAX_ARGUMENT_LENGTH = 4_096;

/** The outcome of a tool's call, and the status with which the endpoint answered. */
export interface ToolOutcome {
  readonly status: number;
  readonly error?: ErrorBody;
  readonly result: object;
}

/**
 * Calls a tool's endpoint on behalf of a request's caller. An endpoint's error is returned as the tool's result, not
 * thrown: models read results.
 */
export async function callTool(
  app: FastifyInstance,
  request: FastifyRequest,
  tool: DescribedTool,
  given: Params,
): Promise<ToolOutcome> {
  const { view } = tool;
  // Many models send null for an argument that they leave out.
  const args = Object.entries(given).filter(([, value]) => value !== null);
  const nested = args.find(([, value]) => typeof value === "object");
  if (nested !== undefined) return refusal(`${nested[0]} must not be an array or an object`);
  const { ofView, ofEndpoint } = splitArguments(tool, args);
  // The arguments of the view are read here. The endpoint reads its own.
  const read = view?.arguments.safeParse(Object.fromEntries(ofView));
  if (read?.success === false) return refusal(describeIssues(read.error.issues, "query"));
  const viewArgs: Args = read?.data ?? {};
  const inner = innerRequest(tool, ofEndpoint, view?.query(viewArgs) ?? {});
  if (typeof inner === "string") return refusal(inner);
  const { status, headers, body } = await makeInnerRequest(app, request, inner);
  if (status >= 400) return failure(status, JSON.parse(body) as ErrorBody, headers["retry-after"]);
  const answer = JSON.parse(body) as Answer;
  const chosen = view === undefined ? answer : view.choose(answer, viewArgs);
  if (typeof chosen === "string") return refusal(chosen);
  const text = JSON.stringify(chosen);
  if (text.length > MAX_ANSWER_LENGTH) return refusal(tooLong(text.length));
  const replayed = headers["idempotent-replayed"] === undefined ? [] : [textOf(REPLAYED)];
  return { status, result: { content: [textOf(text), ...replayed], structuredContent: chosen, isError: false } };
}

/** Divides arguments into those that the tool's `view` adds to its endpoint (`View` in tools.ts), and the endpoint's own. */
function splitArguments({ view }: DescribedTool, args: readonly [string, unknown][]) {
  const namesOfView = Object.keys((view?.arguments.shape ?? {}) as object);
  const isOfView = ([name]: [string, unknown]) => namesOfView.includes(name);
  return { ofView: args.filter(isOfView), ofEndpoint: args.filter((each) => !isOfView(each)) };
}

const REPLAYED = "This is the answer to an earlier call with the same idempotency_key. Nothing new was done.";

function tooLong(length: number): string {
  return `the answer has ${length} characters, and at most ${MAX_ANSWER_LENGTH} are given: ask for fewer items, longer steps or less time`;
}

/**
 * Builds the request to the endpoint. An argument that the endpoint does not know is passed on, so that the endpoint
 * refuses it by name.
 * @param args the arguments for the endpoint, without those of the tool's `view`
 * @param decided the query parameters that the tool's `view` sets
 * @returns a text: why the arguments do not fit
 */
function innerRequest(
  { endpoint: { method, path }, placements, listed }: DescribedTool,
  args: readonly [string, unknown][],
  decided: Readonly<Record<string, string | number>>,
): InnerRequest | string {
  // Narrows the type: no endpoint of a tool has another method.
  if (method !== "GET" && method !== "POST" && method !== "PATCH" && method !== "DELETE") throw new Error(method);
  // The endpoint itself refuses a request without a needed query parameter or field.
  const missing = listed.inputSchema.required.find(
    (name: string) => placements.get(name)?.in === "path" && !args.some(([argument]) => argument === name),
  );
  if (missing !== undefined) return `${missing} must be given`;
  const takesBody = method === "POST" || method === "PATCH";
  const segments = new Map<string, string>();
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  const body: Record<string, unknown> = {};
  if (placements.has("limit")) query.set("limit", String(DEFAULT_ITEMS));
  for (const [argument, value] of args) {
    const { in: place, name } = placements.get(argument) ?? { in: takesBody ? "body" : "query", name: argument };
    const text = String(value).toWellFormed();
    if (text.length > MAX_ARGUMENT_LENGTH) return `${argument} has more than ${MAX_ARGUMENT_LENGTH} characters`;
    if (place === "body") body[name] = value;
    else if (place === "header") headers[name] = text;
    else if (place === "query") query.set(name, name === "limit" ? cappedLimit(text) : text);
    // The place is the path. `.` and `..` would lead to another path.
    else if (text === "" || isPathStep(text)) return `${argument} is not an identifier`;
    else segments.set(name, encodeURIComponent(text));
  }
  for (const [name, value] of Object.entries(decided)) query.set(name, String(value));
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => segments.get(name) ?? "");
  const url = query.size === 0 ? filled : `${filled}?${query.toString()}`;
  return { method, url, headers, body: takesBody ? body : undefined };
}

/** Limits a number of items to `MAX_ITEMS`. Passes on any other text, which the endpoint refuses. */
function cappedLimit(text: string): string {
  return Number(text) > MAX_ITEMS ? String(MAX_ITEMS) : text;
}

function refusal(issues: string): ToolOutcome {
  const message = errorMessage("invalid_parameter", "issues", { issues });
  return failure(errorCatalogue.invalid_parameter.status, { error: "invalid_parameter", message });
}

function failure(status: number, error: ErrorBody, retryAfter?: unknown): ToolOutcome {
  const { action } = errorCatalogue[error.error];
  const shown = { ...error, action, ...(retryAfter !== undefined && { retry_after_seconds: Number(retryAfter) }) };
  return { status, error, result: { content: [textOf(JSON.stringify(shown))], isError: true } };
}

function textOf(text: string): object {
  return { type: "text", text };
}
