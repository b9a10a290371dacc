import { type AppRoute, type AppRouter, isAppRoute } from "@ts-rest/core";
import { describe, expect, test } from "vitest";
import { errorCatalogue, errorCodes } from "./errors.ts";
import { partnerContract } from "./partner.ts";
import { isScope } from "./scopes.ts";

const endpoints = walk(partnerContract);
const withKey = endpoints.filter(({ scope }) => scope !== "none");

describe.each(endpoints)("$id", ({ route, scope }) => {
  test("names in its metadata the scope it asks for", () => {
    expect(scope === "any" || scope === "none" || (typeof scope === "string" && isScope(scope))).toBe(true);
  });

  test("answers only with statuses that the error catalogue knows, beside its success", () => {
    const known = new Set<number>(errorCodes.map((code) => errorCatalogue[code].status));
    const failures = Object.keys(route.responses)
      .map(Number)
      .filter((status) => status >= 400);
    expect(failures.filter((status) => !known.has(status))).toEqual([]);
  });

  test("declares what any request may meet: 400, 403 over plain HTTP, 405 and 500", () => {
    expect(Object.keys(route.responses)).toEqual(expect.arrayContaining(["400", "403", "405", "500"]));
  });
});

test.each(withKey)("$id, which needs a key, declares 401, 403 and 429", ({ route }) => {
  expect(Object.keys(route.responses)).toEqual(expect.arrayContaining(["401", "403", "429"]));
});

test("no two endpoints share a method and a path", () => {
  const names = endpoints.map(({ route }) => `${route.method} ${route.path.replaceAll(/:\w+/g, ":")}`);
  expect(new Set(names).size).toBe(names.length);
});

test("all data stands under /v1 and asks for a key; what asks for none stands outside", () => {
  for (const { id, route, scope } of endpoints) expect(route.path.startsWith("/v1/"), id).toBe(scope !== "none");
});

function walk(router: AppRouter, parents: string[] = []): { id: string; route: AppRoute; scope: unknown }[] {
  return Object.entries(router).flatMap(([name, value]) => {
    const path = [...parents, name];
    if (!isAppRoute(value)) return walk(value, path);
    const scope: unknown = Reflect.get(Object(value.metadata), "scope");
    return [{ id: path.join("."), route: value, scope }];
  });
}
