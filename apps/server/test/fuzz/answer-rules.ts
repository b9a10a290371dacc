import { isDeepStrictEqual } from "node:util";
import { type EndpointMetadata, errorBody, errorCatalogue } from "@bikeshare/contract";
import type { AppRoute } from "@ts-rest/core";
import type { z } from "zod";
import type { Answer } from "./exchange.ts";
import { OTHERS_SECRET } from "./fuzz-world.ts";
import { type Identity, mayCall } from "./identities.ts";

/** The facts about a request on which the expected response depends. */
export interface Asked {
  readonly isHead: boolean;
  readonly identity: Identity;
  /** The endpoint that was reached; undefined: the request reached no endpoint of a contract. */
  readonly reached: { readonly route: AppRoute; readonly params: Readonly<Record<string, string>> } | undefined;
}

/** Matches internals that a response must never contain: places in the sources, or SQL statements. */
const INTERNALS = /node_modules|node:internal|\.ts:\d+|\bat async\b|select .* from |FST_ERR|PostgresError/;

/** Returns what is wrong with a response; empty: nothing. */
export function problemsOf(answer: Answer, asked: Asked): string[] {
  const { status, headers, body } = answer;
  const { reached, identity, isHead } = asked;
  const text = body?.toString("utf8") ?? "";
  const problems: string[] = [];
  if (!headers.has("request-id")) problems.push("it has no Request-Id");
  if (headers.get("x-content-type-options") !== "nosniff") problems.push("it has no X-Content-Type-Options");
  if (status === 500) problems.push("the service failed");
  if (status >= 400 && INTERNALS.test(text)) problems.push("it shows internals");
  if (status >= 400 && !isHead) problems.push(...problemsOfError(status, text));
  if (!identity.seesOthers && text.includes(OTHERS_SECRET)) problems.push("it shows what is another partner's");
  if (reached === undefined) return problems;
  const metadata = reached.route.metadata as EndpointMetadata;
  if (status < 400 && !mayCall(identity, metadata, reached.params)) problems.push("the caller must not be let in");
  if (metadata.scope === "console" && status < 400 && headers.get("cache-control") !== "no-store")
    problems.push("it may be kept");
  return [...problems, ...problemsByContract(answer, text, reached.route, isHead)];
}

/** Returns the statuses with which an endpoint may refuse an unauthorised caller. */
export function statusesFor({ key, person }: Identity, { scope }: EndpointMetadata): readonly number[] {
  // 404 too, because a member must not learn whether another partner exists.
  if (scope === "console") return person === undefined ? [401] : [403, 404];
  return key === undefined ? [401] : [403];
}

function problemsOfError(status: number, text: string): string[] {
  const parsed = errorBody.strict().safeParse(parseJson(text));
  if (!parsed.success) return ["its body is not an error's"];
  const { error } = parsed.data;
  return errorCatalogue[error].status === status ? [] : [`${error} has another status than ${status}`];
}

function problemsByContract({ status, headers }: Answer, text: string, route: AppRoute, isHead: boolean): string[] {
  const schema = (route.responses as Record<number, z.ZodTypeAny | undefined>)[status];
  if (schema === undefined) return status === 304 ? [] : [`the contract declares no ${status}`];
  if (status === 304) return [];
  const type = headers.get("content-type");
  if (status < 300 && (type === "text/event-stream" || type?.startsWith("text/csv"))) return [];
  if (isHead || status === 303) return [];
  if (type !== "application/json") return [`its Content-Type is ${type}`];
  const { conflicts = [] } = route.metadata as EndpointMetadata;
  const json = parseJson(text);
  const parsed = schema.safeParse(json);
  if (!parsed.success) return [`it breaks the contract's schema: ${parsed.error.message}`];
  if (!isDeepStrictEqual(parsed.data, json)) return ["it has more than the contract's schema says"];
  if (status !== 409) return [];
  const { error } = errorBody.parse(json);
  return conflicts.includes(error) ? [] : [`the contract declares no conflict ${error}`];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
