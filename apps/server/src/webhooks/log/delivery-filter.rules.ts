import { dateOf } from "../../iso-instant.ts";
import type { DeliveryState } from "../rules/after-attempt.ts";

/* A filter of deliveries: how it is read from parameters, and which columns and which index it needs. */

/** A filter of an endpoint's deliveries: all given conditions must hold. */
export interface DeliveryFilter {
  /** `failing`: pending, and the latest attempt has failed. `unsuccessful`: failing or failed. */
  readonly status?: DeliveryState | "failing" | "unsuccessful" | undefined;
  readonly event?: string | undefined;
  /** The ride, station, reservation or bike that the event is about. */
  readonly resourceId?: string | undefined;
  /** The status code of the latest attempt's response, or `4xx` for all from 400 to 499. */
  readonly code?: CodeFilter | undefined;
  /**
   * Why the delivery did not arrive: the failure of the latest attempt, as `failureOf` in rules/after-attempt.ts names it, or
   * `dropped` or `skipped`, when no attempt was the cause.
   */
  readonly failure?: string | undefined;
  /** Created at `since` or later, and before `until`. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

/** A filter as the query parameters of a list. */
interface DeliveryParameters {
  readonly status?: DeliveryFilter["status"];
  readonly event?: string | undefined;
  readonly resource_id?: string | undefined;
  readonly code?: string | undefined;
  readonly failure?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** Returns the filter that the parameters of a list stand for. */
export function filterOf(parameters: DeliveryParameters): DeliveryFilter {
  const { status, event, code, failure, resource_id: resourceId, since, until } = parameters;
  return {
    status,
    event,
    failure,
    resourceId,
    code: code === undefined ? undefined : readCodeFilter(code),
    since: dateOf(since),
    until: dateOf(until),
  };
}

/** A code from 100 to 599, or the first digit of a class of codes. */
export type CodeFilter = { readonly exact: number } | { readonly firstDigit: number };

/** Reads a filter such as `503` or `5xx`. @returns undefined when it is neither a code nor a class of codes */
export function readCodeFilter(text: string): CodeFilter | undefined {
  if (/^[1-5]xx$/.test(text)) return { firstDigit: Number(text.charAt(0)) };
  return /^[1-5]\d\d$/.test(text) ? { exact: Number(text) } : undefined;
}

/**
 * The index that a search walks, newest first. `problem` and `problems` stand for the generated column `problem`: `failing`,
 * `failed` or `held`; null for other deliveries. The other filters are checked row by row, so that a search reads
 * non-matching rows only within the index's range.
 */
export type SearchIndex = "resource" | "code" | "failure" | "problem" | "problems" | "queue" | "event" | "endpoint";

/** Returns the index that gives the fewest rows for a filter, as far as that can be told without counting. */
export function searchIndexFor(filter: DeliveryFilter): SearchIndex {
  if (filter.resourceId !== undefined) return "resource";
  // An attempt with a code of a class has one failure, such as `http_4xx` (`failureAskedFor`). So a class of codes does
  // not find a dropped delivery, whose failure is `dropped`; its exact code does. No index has the codes of successes.
  if (filter.code !== undefined && !isSuccessCode(filter.code)) return "exact" in filter.code ? "code" : "failure";
  if (filter.failure !== undefined) return "failure";
  if (problemOf(filter.status) !== null) return "problem";
  if (filter.status === "unsuccessful") return "problems";
  if (filter.status === "pending") return "queue";
  return filter.event === undefined ? "endpoint" : "event";
}

/** Returns the failure that a filter asks for by its name or by a class of codes; null: none. */
export function failureAskedFor({ failure, code }: DeliveryFilter): string | null {
  if (failure !== undefined) return failure;
  if (code === undefined || "exact" in code || isSuccessCode(code)) return null;
  return `http_${code.firstDigit}xx`;
}

/** Returns the value of the column `problem` that deliveries of a status have; null: none. */
export function problemOf(status: DeliveryFilter["status"]): "failing" | "failed" | "held" | null {
  return status === "failing" || status === "failed" || status === "held" ? status : null;
}

/** Returns the lowest and the highest code that a filter lets through. */
export function codeRange(code: CodeFilter): readonly [lowest: number, highest: number] {
  return "exact" in code ? [code.exact, code.exact] : [code.firstDigit * 100, code.firstDigit * 100 + 99];
}

function isSuccessCode(code: CodeFilter): boolean {
  const [lowest] = codeRange(code);
  return lowest >= 200 && lowest <= 299;
}
