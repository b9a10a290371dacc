import { Validator } from "@seriousme/openapi-schema-validator";
import { type AppRoute, type AppRouter, isAppRoute } from "@ts-rest/core";
import addFormats from "ajv-formats";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import type { z } from "zod";
import type { EndpointMetadata } from "./endpoint.ts";
import { errorCatalogue, errorCodes, partnerErrorCodes } from "./error-catalogue.ts";
import { deliveryNames, eventNames } from "./event-names.ts";
import { deliveryOf } from "./events.ts";
import { gbfsContract } from "./gbfs.ts";
import { DEFAULT_PAGE_SIZE, DEFAULT_RATE_LIMIT, MAX_PAGE_SIZE } from "./limits.ts";
import {
  createGbfsOpenApiDocument,
  createOpenApiDocument,
  createOperatorOpenApiDocument,
  type DocumentOptions,
} from "./openapi.ts";
import type { MediaType, OpenApiDocument, Operation, Parameter } from "./openapi/document.ts";
import { operatorContract } from "./operator.ts";
import { partnerContract } from "./partner.ts";

const options = { baseUrl: "https://bikes.example/", version: "1.2.3" };
const partners = open(createOpenApiDocument(options), partnerContract);
const validators = open(createOpenApiDocument({ ...options, readers: "validators" }), partnerContract);
const operators = open(createOperatorOpenApiDocument(options), operatorContract);
const feeds = open(createGbfsOpenApiDocument(options), { gbfs: gbfsContract });

describe.each([
  { whose: "partners'", ...partners, create: createOpenApiDocument },
  {
    whose: "partners' validators'",
    ...validators,
    create: (given: DocumentOptions) => createOpenApiDocument({ ...given, readers: "validators" }),
  },
  { whose: "operator's", ...operators, create: createOperatorOpenApiDocument },
  { whose: "public feeds'", ...feeds, create: createGbfsOpenApiDocument },
])("the $whose document", ({ document, asJson, endpoints, create }) => {
  test("is valid by the official schema of OpenAPI 3.1", async () => {
    expect(await new Validator().validate(structuredClone(asJson))).toEqual({ valid: true });
    expect(document.openapi).toBe("3.1.0");
  });

  test("is looked at by a validator that is awake: it refuses a document with an issue", async () => {
    const rejected = { ...structuredClone(asJson), servers: "https://bikes.example" };
    expect((await new Validator().validate(rejected)).valid).toBe(false);
  });

  test("has nothing left of OpenAPI 3.0: no `nullable`, no boolean bounds, no union of types beside a type", () => {
    expect(JSON.stringify(asJson)).not.toMatch(/"nullable"|"exclusiveM(in|ax)imum":(true|false)/);
    const unions = objectsIn(asJson).filter((schema) => "oneOf" in schema && "type" in schema);
    expect(unions.flatMap(({ oneOf }) => oneOf as object[]).filter((member) => "type" in member)).toEqual([]);
  });

  test("shows every endpoint of the contract, and no other", () => {
    const documented = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, { operationId }]) => `${operationId} ${method} ${path}`),
    );
    const inContract = endpoints.map(
      ({ id, route }) => `${id} ${route.method.toLowerCase()} ${route.path.replaceAll(/:(\w+)/g, "{$1}")}`,
    );
    expect(documented.toSorted()).toEqual(inContract.toSorted());
  });

  test("gives every operation an identifier of its own, and explains every tag", () => {
    const items = [...Object.values(document.paths), ...Object.values(document.webhooks)];
    const operations = items.flatMap((item) => Object.values(item));
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    const used = new Set(operations.flatMap(({ tags }) => tags));
    expect([...used].toSorted()).toEqual(document.tags.map(({ name }) => name).toSorted());
  });

  test("lets grow what we send, and closes what we are sent, where unknown fields are refused", () => {
    const fromClients = referencesIn(document.paths, "requestBody");
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      const isFromClients = fromClients.has(name);
      const objects = objectsIn(schema).filter(({ type }) => type === "object");
      expect(objects.length > 0 || "oneOf" in schema, name).toBe(true);
      for (const object of objects)
        expect(object["additionalProperties"], name).toBe(isFromClients ? false : undefined);
    }
  });

  test("is introduced with the base address, says whom to ask and where the data's licence is, and defines nothing unused", () => {
    const { description, contact, license } = document.info;
    expect(description).toContain("https://bikes.example/");
    expect([contact.url, license.url]).toEqual([
      "https://bikes.example",
      "https://bikes.example/gbfs/3.0/system_information.json",
    ]);
    const { headers, parameters } = document.components;
    for (const name of Object.keys(headers)) expect(JSON.stringify(document.paths)).toContain(`/headers/${name}"`);
    for (const name of Object.keys(parameters))
      expect(JSON.stringify(document.paths)).toContain(`/parameters/${name}"`);
  });

  test("comes out the same at each call, whatever happened to the one before", () => {
    expect(create({ baseUrl: "https://bikes.example", version: "1.2.3" })).toEqual(document);
  });
});

const schemas = [partners, validators, operators, feeds].flatMap(({ document, ajv }) =>
  Object.keys(document.components.schemas).map((name) => ({ name, ajv })),
);
test.each(schemas)("the schema $name compiles as strict JSON Schema 2020-12", ({ name, ajv }) => {
  expect(ajv.compile({ $ref: `doc:openapi#/components/schemas/${name}` })).toBeTypeOf("function");
});

const documented = [partners, operators, feeds].flatMap(({ endpoints, document, ajv }) =>
  endpoints.map((endpoint) => ({ ...endpoint, ajv, operation: operationOf(document, endpoint.id) })),
);
describe.each(documented)("$route.method $route.path", ({ route, metadata, operation, ajv }) => {
  const { scope } = metadata;
  const isConditional = route.method === "GET" && /^\/(v1|gbfs)\//.test(route.path);

  test("says which scope it asks for: in words, as security and as x-required-scope", () => {
    expect(operation["x-required-scope"]).toBe(scope);
    if (scope === "none") expect(operation.security).toEqual([]);
    else expect(operation.security).toEqual([{ apiKey: scope === "any" ? [] : [scope] }]);
    if (scope !== "none" && scope !== "any") expect(operation.description).toContain(`scope \`${scope}\``);
  });

  test("has every response of the contract, and 304 where answers carry an ETag", () => {
    const expected = new Set([...Object.keys(route.responses), ...(isConditional ? ["304"] : [])]);
    expect(Object.keys(operation.responses).toSorted()).toEqual([...expected].toSorted());
    expect("ETag" in (operation.responses["200"]?.headers ?? {})).toBe(isConditional);
  });

  test("has every parameter of the contract, and no other", () => {
    const named = (location: string) =>
      inlineParameters(operation)
        .filter((p) => p.in === location)
        .map((p) => p.name);
    expect(named("query")).toEqual(Object.keys(shapeOf(route.query)));
    expect(named("path")).toEqual([...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name));
    expect(named("header")).toEqual(metadata.idempotent === true ? ["Idempotency-Key"] : []);
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
      if (status.startsWith("2") && scope !== "none")
        expect(names).toEqual(expect.arrayContaining(["RateLimit-Policy", "RateLimit"]));
      expect(names.includes("Idempotent-Replayed"), status).toBe(
        status.startsWith("2") && metadata.idempotent === true,
      );
      const codes = [...description.matchAll(/^- `(\w+)`:/gm)].map(([, code]) => code as keyof typeof errorCatalogue);
      for (const code of codes) expect(errorCatalogue[code].status).toBe(Number(status));
      if (Number(status) >= 400) expect(codes, status).not.toEqual([]);
      if (status === "409") expect(codes).toEqual(metadata.conflicts);
    }
  });

  test("shows examples that the contract's own schema accepts, and the document's too", () => {
    for (const [status, response] of Object.entries(operation.responses)) {
      const media = response.content?.["application/json"];
      if (media !== undefined) checkExamples(ajv, media, route.responses[Number(status)] as z.ZodTypeAny, status);
    }
  });
});

test("the codes of partners are those that the document for partners names", () => {
  const named = Object.values(partners.document.paths).flatMap((item) =>
    Object.values(item).flatMap(({ responses }) =>
      Object.values(responses).flatMap(({ description }) => [...description.matchAll(/^- `(\w+)`:/gm)]),
    ),
  );
  expect(new Set<string | undefined>(partnerErrorCodes)).toEqual(new Set(named.map(([, code]) => code)));
});

test.each(documented.filter(({ route }) => "body" in route && route.body !== null))(
  "$route.method $route.path needs a body, shows what it must be, and one as an example",
  ({ route, operation, ajv }) => {
    const media = operation.requestBody?.content["application/json"];
    expect(operation.requestBody?.required).toBe(true);
    checkExamples(ajv, media!, Reflect.get(route, "body") as z.ZodTypeAny, "body");
  },
);

test.each(operators.endpoints)("$route.path says what a single item may fail with", ({ id, metadata }) => {
  const { description } = operationOf(operators.document, id);
  for (const code of metadata.itemErrors ?? []) expect(description).toContain(`\`${code}\``);
});

test.each(operators.endpoints.filter(({ metadata }) => metadata.itemErrors !== undefined))(
  "the items of $route.path have their own schema, with what they need",
  ({ id, route }) => {
    const { document, ajv } = operators;
    const media = operationOf(document, id).requestBody?.content["application/json"];
    const body = document.components.schemas[nameIn(media!.schema)] as {
      properties: { items: Record<string, unknown> };
    };
    expect(body.properties.items).toEqual({
      type: "array",
      items: { $ref: expect.stringMatching(/^#\/components\/schemas\/\w+$/) as string },
      minItems: 1,
      maxItems: 1000,
    });
    const item = document.components.schemas[nameIn(body.properties.items["items"])];
    expect(item?.["required"]).toContain("id");
    const validate = ajv.compile({ $ref: `doc:openapi${String(media!.schema["$ref"])}` });
    const read = (value: unknown) => (Reflect.get(route, "body") as z.ZodTypeAny).parse(value) as { items: object[] };
    for (const { value } of Object.values(media?.examples ?? {})) {
      const [example] = (value as { items: object[] }).items;
      expect(read(value).items).toEqual([{ item: example }]);
      for (const wrong of [
        { ...example, id: undefined },
        { ...example, id: 1 },
        { ...example, surprise: 1 },
      ]) {
        const batch = { items: [JSON.parse(JSON.stringify(wrong))] };
        expect(validate(batch)).toBe(false);
        expect(read(batch).items).toEqual([expect.objectContaining({ issues: expect.any(Array) as unknown[] })]);
      }
    }
  },
);

test("everything that can be delivered appears as a webhook of the partners, and no more", () => {
  expect(Object.keys(partners.document.webhooks)).toEqual(deliveryNames);
  expect(operators.document.webhooks).toEqual({});
});

test.each(deliveryNames)(
  "the webhook of %s shows a delivery that its schema accepts, and the signature's header",
  (event) => {
    const operation = partners.document.webhooks[event]?.post;
    expect(inlineParameters(operation!).map(({ name, required }) => [name, required])).toEqual([
      ["Service-Signature", true],
    ]);
    const media = operation?.requestBody?.content["application/json"];
    expect(operation?.requestBody?.required).toBe(true);
    checkExamples(partners.ajv, media!, deliveryOf(event), event);
  },
);

/** Returns the event names that each schema in the union of events accepts. */
function namesOfEvents({ components }: OpenApiDocument) {
  const { oneOf } = components.schemas["Event"] as { oneOf: { $ref: string }[] };
  return oneOf.map((reference) => {
    const { properties } = components.schemas[nameIn(reference)] as {
      properties: { event: { enum?: string[]; not?: object } };
    };
    return properties.event.enum ?? properties.event.not;
  });
}

test("an event's name tells which schema it has, so that clients made from the document narrow by it", () => {
  expect(namesOfEvents(partners.document)).toEqual(eventNames.map((event) => [event]));
  const { discriminator } = partners.document.components.schemas["Event"] as {
    discriminator: { propertyName: string; mapping: Record<string, string> };
  };
  expect([discriminator.propertyName, Object.keys(discriminator.mapping)]).toEqual(["event", eventNames]);
});

test("no field is required for having a default: clients made from the document may leave it out", () => {
  const withDefault = Object.entries(partners.document.components.schemas).filter(([, { properties = {} }]) =>
    Object.values(properties as object).some((schema: object) => "default" in schema),
  );
  expect(withDefault.map(([name]) => name)).toEqual([]);
});

test("for validators every name of an event that is not known yet has a schema of its own", () => {
  expect(namesOfEvents(validators.document)).toEqual([...eventNames.map((event) => [event]), { enum: eventNames }]);
});

describe("what is to come is valid by the document of today", () => {
  const { ajv } = validators;
  const validator = (name: string) => ajv.compile({ $ref: `doc:openapi#/components/schemas/${name}` });
  const exampleOf = (id: string, status: string) => {
    const examples =
      operationOf(partners.document, id).responses[status]?.content?.["application/json"]?.examples ?? {};
    return structuredClone(Object.values(examples)[0]?.value) as Record<string, unknown>;
  };

  test("a page with an event of a new name, but none in which a known event has lost a field", () => {
    const isPage = validator("EventList");
    const event = exampleOf("events.get", "200");
    expect(isPage({ data: [event, { ...event, event: "ride.stolen", data: { id: "x" } }] })).toBe(true);
    expect(isPage({ data: [{ ...event, data: { id: "x" } }] })).toBe(false);
    expect(isPage({ data: [{ id: event["id"], event: "ride.stolen" }] })).toBe(false);
  });

  test("a new status, state, reason, error code or scope, but none that is not a string", () => {
    for (const [id, status, schema, field] of [
      ["rides.get", "200", "Ride", "status"],
      ["stations.get", "200", "Station", "offline_reason"],
      ["bikes.get", "200", "Bike", "vehicle_state"],
      ["rides.get", "404", "Error", "error"],
    ] as const) {
      const isValid = validator(schema);
      const example = exampleOf(id, status);
      expect(isValid(example), schema).toBe(true);
      expect(isValid({ ...example, [field]: "of_tomorrow" }), schema).toBe(true);
      expect(isValid({ ...example, [field]: 7 }), schema).toBe(false);
    }
    expect(validator("Me")({ ...exampleOf("me.get", "200"), scopes: ["docks:read"] })).toBe(true);
  });

  test("and the values that are known today are listed", () => {
    const { properties } = partners.document.components.schemas["Error"] as { properties: { error: object } };
    expect(properties.error).toMatchObject({ anyOf: [{ enum: errorCodes }, { type: "string" }] });
  });
});

test("what we are sent stays closed: a filter takes known values alone, and a reservation exactly one of its two ids", () => {
  const status = inlineParameters(operationOf(partners.document, "rides.list")).find(({ name }) => name === "status");
  expect(status?.schema).toEqual({ type: "string", enum: ["started", "completed", "cancelled"] });
  const isRequest = partners.ajv.compile({ $ref: "doc:openapi#/components/schemas/ReservationRequest" });
  const requests = [
    { station_id: "s" },
    { bike_id: "b" },
    {},
    { vehicle_type_id: "v" },
    { station_id: "s", bike_id: "b" },
  ];
  expect(requests.map((request) => isRequest(request))).toEqual([true, true, false, false, false]);
});

test("the introductions of both interfaces tell every error, in a form that a narrow column can show", () => {
  for (const { document } of [partners, operators]) {
    for (const code of errorCodes)
      expect(document.info.description).toContain(`- **\`${code}\`** (${errorCatalogue[code].status}): `);
  }
});

test("page and limit are plain whole numbers, with the bounds and defaults of the contract", () => {
  const parameters = inlineParameters(operationOf(partners.document, "rides.list"));
  const schemaOf = (name: string) => parameters.find((parameter) => parameter.name === name)?.schema;
  expect(schemaOf("page")).toEqual({ type: "integer", minimum: 1 });
  expect(schemaOf("limit")).toEqual({ type: "integer", minimum: 1, default: DEFAULT_PAGE_SIZE });
  expect(schemaOf("started_after")).toEqual({ type: "string", format: "date-time" });
});

test("the Idempotency-Key is described, optional, bounded, and in the samples that references make", () => {
  const [header] = inlineParameters(operationOf(partners.document, "reservations.create"));
  expect(header).toEqual({
    name: "Idempotency-Key",
    in: "header",
    description: expect.stringContaining("24 hours") as string,
    example: expect.stringMatching(/^[\da-f-]{36}$/) as string,
    schema: { type: "string", pattern: "^[\\x21-\\x7e]{1,255}$" },
  });
});

test("the partners' introduction tells the limits and that HEAD works", () => {
  const { description } = partners.document.info;
  expect(description).toContain("https://bikes.example/v1/stations");
  expect(description).toContain("`HEAD`");
  for (const number of [DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, DEFAULT_RATE_LIMIT])
    expect(description).toContain(` ${number} `);
});

test("the operator's endpoints are not in the partners' document", () => {
  expect(JSON.stringify(partners.asJson)).not.toContain("/operator/");
});

/** A document with what the tests need: its JSON, a validator of its schemas, and the endpoints that it must show. */
function open(document: OpenApiDocument, contract: AppRouter) {
  const asJson = JSON.parse(JSON.stringify(document)) as Record<string, unknown>;
  const ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true, allErrors: true });
  addFormats.default(ajv);
  ajv.addVocabulary(["components", "discriminator"]); // keywords of OpenAPI that JSON Schema does not know
  ajv.addSchema({ $id: "doc:openapi", components: asJson["components"] }, undefined, undefined, false);
  return { document, asJson, ajv, endpoints: walk(contract) };
}

function checkExamples(ajv: Ajv2020, media: MediaType, schema: z.ZodTypeAny, where: string): void {
  const validate = ajv.compile({ $ref: `doc:openapi${String(media.schema["$ref"])}` });
  expect(Object.keys(media.examples ?? {}).length, where).toBeGreaterThan(0);
  for (const [name, { value }] of Object.entries(media.examples ?? {})) {
    expect(schema.safeParse(value).error?.issues, name).toBeUndefined();
    validate(value);
    expect(validate.errors, name).toBeNull();
  }
}

function operationOf(document: OpenApiDocument, id: string): Operation {
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item));
  return operations.find(({ operationId }) => operationId === id)!;
}

function inlineParameters(operation: Operation): Parameter[] {
  return (operation.parameters ?? []).filter((parameter) => "name" in parameter);
}

function shapeOf(query: unknown): object {
  return Object(Reflect.get(Object(query), "shape")) as object;
}

function nameIn(reference: unknown): string {
  return (
    String(Reflect.get(Object(reference), "$ref"))
      .split("/")
      .at(-1) ?? ""
  );
}

/** Every object within a value of JSON, the value included. */
function objectsIn(value: unknown): Record<string, unknown>[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.values(value).flatMap(objectsIn);
  return Array.isArray(value) ? inner : [value as Record<string, unknown>, ...inner];
}

/** Returns the names of the schemas to which one `part` of the operations refers, directly or through other schemas. */
function referencesIn(paths: OpenApiDocument["paths"], part: "requestBody"): Set<string> {
  const found = new Set<string>();
  const follow = (value: unknown): void => {
    for (const object of objectsIn(value)) {
      if (typeof object["$ref"] !== "string" || found.has(nameIn(object))) continue;
      found.add(nameIn(object));
      follow(
        partners.document.components.schemas[nameIn(object)] ?? operators.document.components.schemas[nameIn(object)],
      );
    }
  };
  for (const item of Object.values(paths)) for (const operation of Object.values(item)) follow(operation[part]);
  return found;
}

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
