import { partnerContract } from "@bikeshare/contract";
import { createOpenApiDocument } from "@bikeshare/contract/openapi";
import { describe, expect, it } from "vitest";
import { validateResponse } from "./validate.ts";

type Body = Readonly<Record<string, unknown>>;

/** Returns every example of an answer in the OpenAPI document, with its operation. */
function examples(): [operation: string, name: string, body: Body][] {
  const { paths } = createOpenApiDocument({ baseUrl: "https://bikes.example", version: "1.0.0" });
  const routes = Object.values(partnerContract).flatMap(
    (verbs) => Object.values(verbs) as { method: string; path: string }[],
  );
  return routes.flatMap(({ method, path }) => {
    const operation = Reflect.get(paths?.[path.replace(":id", "{id}")] ?? {}, method.toLowerCase()) as {
      readonly responses: Readonly<
        Record<string, { readonly content: Readonly<Record<string, { readonly examples: Body }>> }>
      >;
    };
    const success = operation.responses["200"] ?? operation.responses["201"];
    const shown = success?.content["application/json"]?.examples ?? {};
    return Object.entries(shown).map(([name, example]): [string, string, Body] => [
      `${method} ${path}`,
      name,
      (example as { value: Body }).value,
    ]);
  });
}

/** Returns, for each field of a body, its path and a copy of the body in which this field is changed. */
function changed(body: Body, change: (field: string, of: Body) => Body): [path: string, body: Body][] {
  return Object.keys(body).flatMap((field): [string, Body][] => {
    const value = body[field];
    const own: [string, Body] = [field, change(field, body)];
    if (Array.isArray(value) && typeof value[0] === "object") {
      const inner = changed(value[0] as Body, change);
      return [
        own,
        ...inner.map(([path, item]): [string, Body] => [`${field}[0].${path}`, { ...body, [field]: [item] }]),
      ];
    }
    if (typeof value !== "object" || value === null || Array.isArray(value)) return [own];
    const inner = changed(value as Body, change);
    return [own, ...inner.map(([path, item]): [string, Body] => [`${field}.${path}`, { ...body, [field]: item }])];
  });
}

const without = (field: string, { [field]: _, ...rest }: Body): Body => rest;
const marks = ["page", "total_pages", "next_cursor"];

it("has an example of every operation", () => {
  const operations = new Set(examples().map(([operation]) => operation));
  expect(operations.size).toBe(Object.values(partnerContract).flatMap((verbs) => Object.keys(verbs)).length);
});

describe.each(examples())("the response to %s (%s)", (operation, _, body) => {
  it("is valid as documented", () => {
    expect(validateResponse(operation, body)).toBeUndefined();
  });

  it("may have new fields", () => {
    for (const [, more] of changed(body, (field, of) => ({ ...of, [`${field}_of_tomorrow`]: {} }))) {
      expect(validateResponse(operation, more)).toBeUndefined();
    }
  });

  it("must have every field, and the issue names its path", () => {
    for (const [path, less] of changed(body, without)) {
      // These may be missing: an event's name (then its data is not checked), `as_of` of a present station, `searched_to`.
      const isOpen =
        marks.includes(path) ||
        path === "searched_to" ||
        (/(^|\.)event$/.test(path) && !operation.includes("/deliveries")) ||
        (/(^|\.)as_of$/.test(path) && operation.includes("/stations"));
      expect(validateResponse(operation, less) ?? "", path).toMatch(isOpen ? /^$/ : `${path} is not a valid `);
    }
  });

  it("must have values of the right type, and the issue does not repeat the value", () => {
    for (const wrong of [{ a: "secret" }, ["secret"], Symbol("secret")]) {
      for (const [path, other] of changed(body, (field, of) => ({ ...of, [field]: wrong }))) {
        if (/(^|\.)event$/.test(path)) continue;
        if (Array.isArray(wrong) && /(^|\.)(scopes|\w+_ids)$/.test(path)) continue;
        expect(validateResponse(operation, other) ?? "", path).toMatch(/ is not a valid /);
        expect(validateResponse(operation, other) ?? "", path).not.toContain("secret");
      }
    }
  });

  it("must be an object", () => {
    for (const wrong of [null, undefined, [], "text", 7])
      expect(validateResponse(operation, wrong)).toBe("the body is not a valid object");
  });
});

it("accepts new enum values, and new events", () => {
  const [, , ride] = examples().find(([operation]) => operation === "GET /v1/rides/:id")!;
  expect(validateResponse("GET /v1/rides/:id", { ...ride, status: "a state of tomorrow" })).toBeUndefined();
  const event = { id: "e", event: "ride.of_tomorrow", occurred_at: "2026-06-01T12:00:00.000Z", data: 7 };
  expect(validateResponse("GET /v1/events/:id", event)).toBeUndefined();
  expect(validateResponse("GET /v1/events/:id", { ...event, event: "constructor" })).toBeUndefined();
  expect(validateResponse("GET /v1/of-tomorrow", {})).toBeUndefined();
});

it("accepts timestamps in the API's format only", () => {
  const [, , ride] = examples().find(([operation]) => operation === "GET /v1/rides/:id")!;
  for (const started of ["yesterday", "2026-06-01T12:00:00+02:00", "2026-99-01T12:00:00.000Z", 1_780_000_000_000]) {
    expect(validateResponse("GET /v1/rides/:id", { ...ride, started_at: started })).toBe(
      "started_at is not a valid timestamp",
    );
  }
});
