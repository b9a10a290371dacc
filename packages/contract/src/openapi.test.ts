import { Validator } from "@seriousme/openapi-schema-validator";
import { type AppRoute, type AppRouter, isAppRoute } from "@ts-rest/core";
import addFormats from "ajv-formats";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { errorCatalogue, errorCodes } from "./errors.ts";
import { deliveryOf, eventNames } from "./events.ts";
import { DEFAULT_PAGE_SIZE, DEFAULT_RATE_LIMIT, MAX_PAGE_SIZE } from "./limits.ts";
import { createOpenApiDocument } from "./openapi.ts";
import type { MediaType, Operation, Parameter } from "./openapi/document.ts";
import { toJsonSchema } from "./openapi/json-schema.ts";
import { partnerContract } from "./partner.ts";

const document = createOpenApiDocument({ baseUrl: "https://bikes.example/", version: "1.2.3" });
const asJson = JSON.parse(JSON.stringify(document)) as Record<string, unknown>;
const endpoints = walk(partnerContract);

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
addFormats.default(ajv);
ajv.addVocabulary(["components"]); // where the document keeps its schemas
ajv.addSchema({ $id: "doc:openapi", components: asJson["components"] }, undefined, undefined, false);
const schemaNames = Object.keys(document.components.schemas);

test("the document is valid by the official schema of OpenAPI 3.1", async () => {
  expect(await new Validator().validate(structuredClone(asJson))).toEqual({ valid: true });
  expect(document.openapi).toBe("3.1.0");
});

test("the validator is awake: it refuses a document with a fault", async () => {
  const faulty = { ...structuredClone(asJson), servers: "https://bikes.example" };
  expect((await new Validator().validate(faulty)).valid).toBe(false);
});

test("nothing is left of OpenAPI 3.0: no `nullable`, no boolean bounds, no union beside a type", () => {
  const text = JSON.stringify(asJson);
  expect(text).not.toMatch(/"nullable"|"exclusiveM(in|ax)imum":(true|false)|"oneOf"/);
});

test.each(schemaNames)("the schema %s compiles as strict JSON Schema 2020-12", (name) => {
  expect(ajv.compile({ $ref: `doc:openapi#/components/schemas/${name}` })).toBeTypeOf("function");
});

test("every endpoint of the contract appears, and no other", () => {
  const documented = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { operationId }]) => `${operationId} ${method} ${path}`),
  );
  const inContract = endpoints.map(
    ({ id, route }) => `${id} ${route.method.toLowerCase()} ${route.path.replaceAll(/:(\w+)/g, "{$1}")}`,
  );
  expect(documented.toSorted()).toEqual(inContract.toSorted());
});

test("every event appears as a webhook, and no other", () => {
  expect(Object.keys(document.webhooks)).toEqual(eventNames);
});

describe.each(endpoints)("$id", ({ id, route, scope }) => {
  const operation = operationOf(id);
  const isData = route.path.startsWith("/v1/");

  test("says which scope it asks for: in words, as security and as x-required-scope", () => {
    expect(operation["x-required-scope"]).toBe(scope);
    if (scope === "none") expect(operation.security).toEqual([]);
    else expect(operation.security).toEqual([{ apiKey: scope === "any" ? [] : [scope] }]);
    if (scope.includes(":")) expect(operation.description).toContain(`\`${scope}\``);
  });

  test("has every response of the contract, and 304 where answers carry an ETag", () => {
    const expected = [...Object.keys(route.responses), ...(isData ? ["304"] : [])];
    expect(Object.keys(operation.responses).toSorted()).toEqual(expected.toSorted());
    expect("ETag" in (operation.responses["200"]?.headers ?? {})).toBe(isData);
  });

  test("has every query and path parameter of the contract, and no other", () => {
    const named = (place: string) =>
      inlineParameters(operation)
        .filter((p) => p.in === place)
        .map((p) => p.name);
    expect(named("query")).toEqual(Object.keys(shapeOf(route.query)));
    expect(named("path")).toEqual([...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name));
  });

  test("tells at each status its headers and, in words, the codes that are possible there", () => {
    for (const [status, { description, headers = {} }] of Object.entries(operation.responses)) {
      const names = Object.keys(headers);
      expect(names, status).toContain("Request-Id");
      expect(description, status).not.toMatch(/^\d*$/);
      if (status === "401") expect(names).toContain("WWW-Authenticate");
      if (status === "403" && scope !== "none") expect(names).toContain("WWW-Authenticate");
      if (status === "405") expect(names).toContain("Allow");
      if (status === "429" || status === "503") expect(names).toContain("Retry-After");
      if (status === "200" && scope !== "none")
        expect(names).toEqual(expect.arrayContaining(["RateLimit-Policy", "RateLimit"]));
      for (const [, code] of description.matchAll(/^- `(\w+)`:/gm)) {
        expect(errorCatalogue[code as keyof typeof errorCatalogue].status).toBe(Number(status));
      }
      if (Number(status) >= 400) expect(description).toMatch(/^- `\w+`: /);
    }
  });

  test("shows examples that the contract's own schema accepts, and the document's too", () => {
    for (const [status, response] of Object.entries(operation.responses)) {
      const media = response.content?.["application/json"];
      if (media === undefined) continue;
      expect(Object.keys(media.examples ?? {}).length, status).toBeGreaterThan(0);
      checkExamples(media, route.responses[Number(status)] as z.ZodTypeAny);
    }
  });
});

test.each(eventNames)(
  "the webhook of %s shows a delivery that its schema accepts, and the signature's header",
  (event) => {
    const operation = document.webhooks[event]?.post;
    expect(inlineParameters(operation!).map(({ name, required }) => [name, required])).toEqual([
      ["Service-Signature", true],
    ]);
    const media = operation?.requestBody?.content["application/json"];
    expect(operation?.requestBody?.required).toBe(true);
    checkExamples(media!, deliveryOf(event));
  },
);

test("page and limit are plain whole numbers, with the bounds and defaults of the contract", () => {
  const parameters = inlineParameters(operationOf("rides.list"));
  const schemaOf = (name: string) => parameters.find((parameter) => parameter.name === name)?.schema;
  expect(schemaOf("page")).toEqual({ type: "integer", minimum: 1 });
  expect(schemaOf("limit")).toEqual({ type: "integer", minimum: 1, default: DEFAULT_PAGE_SIZE });
});

test("what we send may grow: no schema forbids fields that are not named yet", () => {
  expect(JSON.stringify(document.components.schemas)).not.toContain("additionalProperties");
});

test("the introduction tells base address, limits, every error and that HEAD works", () => {
  const { description } = document.info;
  expect(description).toContain("https://bikes.example/v1/stations");
  expect(description).toContain("`HEAD`");
  for (const number of [DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, DEFAULT_RATE_LIMIT])
    expect(description).toContain(` ${number} `);
  for (const code of errorCodes) expect(description).toContain(`| \`${code}\` | ${errorCatalogue[code].status} |`);
});

test("every operation has an identifier of its own", () => {
  const items = [...Object.values(document.paths), ...Object.values(document.webhooks)];
  const ids = items.flatMap((item) => Object.values(item)).map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
});

test("each call makes the same document, whatever happened to the one before", () => {
  expect(createOpenApiDocument({ baseUrl: "https://bikes.example", version: "1.2.3" })).toEqual(document);
});

describe("lifting a schema from OpenAPI 3.0", () => {
  test("turns nullable into a type, a value of the enum, or a choice", () => {
    expect(toJsonSchema({ type: "string", nullable: true }, "as-written")).toEqual({ type: ["string", "null"] });
    expect(toJsonSchema({ type: "string", enum: ["a"], nullable: true }, "as-written")).toEqual({
      type: ["string", "null"],
      enum: ["a", null],
    });
    expect(toJsonSchema({ allOf: [{ $ref: "#/x" }], nullable: true }, "as-written")).toEqual({
      anyOf: [{ allOf: [{ $ref: "#/x" }] }, { type: "null" }],
    });
  });

  test("turns exclusive bounds into numbers", () => {
    expect(toJsonSchema({ minimum: 1, exclusiveMinimum: true }, "as-written")).toEqual({ exclusiveMinimum: 1 });
    expect(toJsonSchema({ maximum: 9, exclusiveMaximum: 9 }, "as-written")).toEqual({ exclusiveMaximum: 9 });
    expect(toJsonSchema({ minimum: 1, exclusiveMinimum: false }, "as-written")).toEqual({ minimum: 1 });
  });

  test("opens what we send and leaves closed what we are sent", () => {
    const closed = {
      type: "object",
      properties: { a: { type: "object", additionalProperties: false } },
      additionalProperties: false,
    };
    expect(toJsonSchema(closed, "as-written")).toEqual(closed);
    expect(toJsonSchema(closed, "allowed")).toEqual({ type: "object", properties: { a: { type: "object" } } });
  });

  test("does not take a property's name for a keyword", () => {
    const source = { properties: { nullable: { type: "string", nullable: true }, items: { type: "string" } } };
    expect(toJsonSchema(source, "as-written")).toEqual({
      properties: { nullable: { type: ["string", "null"] }, items: { type: "string" } },
    });
  });
});

function checkExamples(media: MediaType, schema: z.ZodTypeAny): void {
  const reference = String(media.schema["$ref"]);
  const validate = ajv.compile({ $ref: `doc:openapi${reference}` });
  for (const [name, { value }] of Object.entries(media.examples ?? {})) {
    expect(schema.safeParse(value).error?.issues, name).toBeUndefined();
    validate(value);
    expect(validate.errors, name).toBeNull();
  }
}

function operationOf(id: string): Operation {
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item));
  return operations.find(({ operationId }) => operationId === id)!;
}

function inlineParameters(operation: Operation): Parameter[] {
  return (operation.parameters ?? []).filter((parameter) => "name" in parameter);
}

function shapeOf(query: unknown): object {
  return Object(Reflect.get(Object(query), "shape")) as object;
}

function walk(router: AppRouter, parents: string[] = []): { id: string; route: AppRoute; scope: string }[] {
  return Object.entries(router).flatMap(([name, value]) => {
    const path = [...parents, name];
    if (!isAppRoute(value)) return walk(value, path);
    return [{ id: path.join("."), route: value, scope: String(Reflect.get(Object(value.metadata), "scope")) }];
  });
}
