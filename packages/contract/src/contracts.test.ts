import { type AppRoute, type AppRouter, isAppRoute } from "@ts-rest/core";
import { describe, expect, test } from "vitest";
import { consoleContract } from "./console.ts";
import type { EndpointMetadata } from "./endpoint.ts";
import { type ErrorCode, errorCatalogue, errorCodes } from "./error-catalogue.ts";
import { idempotencyHeaders } from "./idempotency.ts";
import { operatorContract } from "./operator.ts";
import { partnerContract } from "./partner.ts";
import { isScope, scopes } from "./scopes.ts";

const partners = walk(partnerContract);
const operators = walk(operatorContract);
const endpoints = [
  ...partners.map((endpoint) => ({ ...endpoint, name: `partner's ${endpoint.id}` })),
  ...operators.map((endpoint) => ({ ...endpoint, name: `operator's ${endpoint.id}` })),
];
const withKey = endpoints.filter(({ metadata }) => metadata.scope !== "none");

describe.each(endpoints)("$name", ({ route, metadata }) => {
  const statuses = Object.keys(route.responses).map(Number);

  test("answers only with statuses that the error catalogue knows, beside its one success", () => {
    const known = new Set<number>(errorCodes.map((code) => errorCatalogue[code].status));
    expect(statuses.filter((status) => status < 400)).toHaveLength(1);
    expect(statuses.filter((status) => status >= 400 && !known.has(status))).toEqual([]);
  });

  test("declares what any request may meet: 400, 403 over plain HTTP, 405 and 500", () => {
    expect(statuses).toEqual(expect.arrayContaining([400, 403, 405, 500]));
  });

  test("declares 409 exactly when it names conflicts, each of which is a code of status 409", () => {
    const conflicts: readonly ErrorCode[] = metadata.conflicts ?? [];
    expect(statuses.includes(409)).toBe(conflicts.length > 0);
    expect(conflicts.filter((code) => errorCatalogue[code].status !== 409)).toEqual([]);
    expect(new Set(conflicts).size).toBe(conflicts.length);
  });

  test("takes an Idempotency-Key exactly when it is a POST or a PATCH, and then declares what may become of one", () => {
    const isRepeatable = route.method === "POST" || route.method === "PATCH";
    expect(metadata.idempotent === true).toBe(isRepeatable);
    if (isRepeatable) expect(route.headers).toBe(idempotencyHeaders);
    else expect(route.headers ?? {}).toEqual({});
    expect(metadata.conflicts?.includes("idempotency_in_progress") === true).toBe(isRepeatable);
    expect(statuses.includes(422)).toBe(isRepeatable);
  });

  test("declares what may be wrong with a body unless nobody looks at one, as with GET", () => {
    const readsBody = route.method !== "GET";
    expect([413, 415].map((status) => statuses.includes(status))).toEqual([readsBody, readsBody]);
  });

  test("takes no query parameter that it does not name", () => {
    const query = route.query as unknown as { safeParse(value: unknown): { success: boolean } };
    const required = route.path === "/operator/v1/bikes" && route.method === "GET" ? { public_id: "v_1" } : {};
    expect(query.safeParse(required).success).toBe(true);
    expect(query.safeParse({ ...required, surprise: "1" }).success).toBe(false);
  });
});

test("an endpoint that is to be retired says so for 12 months, and names a successor that is there and stays", () => {
  const lasting = endpoints.filter(({ metadata }) => metadata.deprecated === undefined);
  const successors = lasting.map(({ route }) => `${route.method} ${route.path}`);
  for (const { metadata, name } of endpoints) {
    if (metadata.deprecated === undefined) continue;
    const { since, sunset, successor } = metadata.deprecated;
    const earliest = new Date(since);
    earliest.setUTCFullYear(earliest.getUTCFullYear() + 1);
    expect(Date.parse(sunset), name).toBeGreaterThanOrEqual(earliest.getTime());
    if (successor !== undefined) expect(successors, name).toContain(successor);
  }
});

test.each(withKey)("$name, which needs a key, declares 401, 403 and 429", ({ route }) => {
  expect(Object.keys(route.responses)).toEqual(expect.arrayContaining(["401", "403", "429"]));
});

test("no two endpoints share a method and a path", () => {
  const names = endpoints.map(({ route }) => `${route.method} ${route.path.replaceAll(/:\w+/g, ":")}`);
  expect(new Set(names).size).toBe(names.length);
});

test("partners' data stands under /v1 and asks for a partner's key; what asks for none stands outside", () => {
  for (const { id, route, metadata } of partners) {
    expect(route.path.startsWith("/v1/"), id).toBe(metadata.scope !== "none");
    expect(metadata.scope === "any" || metadata.scope === "none" || isScope(metadata.scope), id).toBe(true);
  }
});

test("everything of the operator stands under /operator/v1 and asks for an operator key", () => {
  expect(operators.length).toBeGreaterThanOrEqual(10);
  for (const { id, route, metadata } of operators) {
    expect(route.path.startsWith("/operator/v1/"), id).toBe(true);
    expect(metadata.scope, id).toBe("operator");
    if (route.method === "POST" && id !== "dashboardLinks.create")
      expect(metadata.itemErrors, id).toContain("invalid_parameter");
  }
});

test("whoever may write needs the scope that says so", () => {
  const writing = partners.filter(({ route }) => route.method !== "GET").map(({ metadata }) => metadata.scope);
  expect(writing).toEqual([...Array.from({ length: 3 }, () => "reservations:write"), "deliveries:write"]);
});

test("the text of the scope for reservations names everything that it allows", () => {
  const allowed = partners.filter(({ metadata }) => metadata.scope === "reservations:write");
  for (const { id } of allowed) expect(scopes["reservations:write"]).toContain(id.replace("reservations.", ""));
});

test("what the operator does for a partner on the dashboard costs as much of a session's rate as what the partner does", () => {
  const costs = new Map<string, Set<number | undefined>>();
  for (const { route, metadata } of walk(consoleContract)) {
    const summary = route.summary ?? "";
    costs.set(summary, (costs.get(summary) ?? new Set()).add(metadata.console?.cost));
  }
  expect([...costs].filter(([, each]) => each.size > 1).map(([summary]) => summary)).toEqual([]);
});

function walk(
  router: AppRouter,
  parents: string[] = [],
): { id: string; route: AppRoute; metadata: EndpointMetadata }[] {
  return Object.entries(router).flatMap(([name, value]) => {
    const path = [...parents, name];
    if (!isAppRoute(value)) return walk(value, path);
    return [{ id: path.join("."), route: value, metadata: value.metadata as EndpointMetadata }];
  });
}
