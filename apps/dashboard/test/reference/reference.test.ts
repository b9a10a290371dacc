import {
  createGbfsOpenApiDocument,
  createOpenApiDocument,
  createOperatorOpenApiDocument,
} from "@bikeshare/contract/openapi";
import { expect, it } from "vitest";
import { curlExample } from "../../src/pages/reference/curl-example.ts";
import {
  endpointsOf,
  errorsOf,
  matchesEndpoint,
  type OpenApiDocument,
  successOf,
} from "../../src/pages/reference/openapi.ts";
import { schemaRows } from "../../src/pages/reference/schema-rows.ts";

const about = { baseUrl: "https://bikes.example", version: "1" };
// As the browser reads them.
const read = (document: object) => JSON.parse(JSON.stringify(document)) as OpenApiDocument;
const partners = read(createOpenApiDocument(about));
const operator = read(createOperatorOpenApiDocument(about));
const gbfs = read(createGbfsOpenApiDocument(about));
const endpoint = (document: OpenApiDocument, id: string) => endpointsOf(document).find((each) => each.id === id)!;

it("every endpoint of every document has what its page shows", () => {
  for (const document of [partners, operator, gbfs]) {
    const endpoints = endpointsOf(document);
    expect(endpoints.length).toBeGreaterThan(5);
    for (const each of endpoints) {
      expect(document.tags.map(({ name }) => name)).toContain(each.tag);
      expect(each.summary, each.id).not.toBe("");
      expect(curlExample(each, about.baseUrl)).toContain(about.baseUrl);
      if (each.request === undefined) continue;
      for (const { name, type } of schemaRows(document.components, each.request.schema))
        expect(type, `${each.id} ${name}`).not.toBe("");
    }
  }
});

it("an endpoint is found by its route, its words or its id", () => {
  const find = (typed: string) =>
    endpointsOf(partners)
      .filter((each) => matchesEndpoint(each, typed))
      .map(({ id }) => id);
  expect(find("POST /v1/reservations")).toEqual(["reservations.create"]);
  expect(find("cancel")).toEqual(["reservations.cancel"]);
  expect(find("rides.get")).toEqual(["rides.get"]);
  expect(find("nothing like it")).toEqual([]);
});

it("fields are read through lists, references and alternatives", () => {
  const rows = schemaRows(partners.components, successOf(endpoint(partners, "rides.list"))!.content!.schema);
  const row = (name: string) => rows.find((each) => each.name === name);
  expect(row("data")).toMatchObject({ isRequired: true, type: expect.stringContaining("list of") as string });
  expect(row("data[].started_at")).toMatchObject({ type: "date-time", isRequired: true });
  expect(row("data[].status")?.type).toBe('"started" or "completed" or "cancelled"');
  expect(row("next_cursor")?.isRequired).toBe(false);
  const batch = schemaRows(operator.components, endpoint(operator, "stations.upsert").request!.schema);
  expect(batch.some(({ name }) => name.includes("[]."))).toBe(true);
});

it("errors are listed by their codes", () => {
  const errors = errorsOf(endpoint(partners, "reservations.create"));
  expect(errors).toContainEqual({
    status: "409",
    code: "no_bike_available",
    message: "The station has no bike that could be reserved. Try another station, or again later.",
  });
  expect(errors.every(({ code, message }) => code !== "" && message !== "")).toBe(true);
});

it("a command has the base address, the key and an example of the body, as words of a shell", () => {
  expect(curlExample(endpoint(partners, "stations.get"), about.baseUrl)).toBe(
    `curl 'https://bikes.example/v1/stations/JC105' \\\n  -H "Authorization: Bearer $API_KEY"`,
  );
  const made = curlExample(endpoint(partners, "reservations.create"), about.baseUrl);
  expect(made).toContain("curl -X POST 'https://bikes.example/v1/reservations'");
  expect(made).toContain("-H 'Content-Type: application/json'");
  expect(made).toContain("Idempotency-Key");
  expect(made).toContain('"station_id": "JC105"');
  const public_ = curlExample(endpoint(gbfs, "gbfs.versions"), about.baseUrl);
  expect(public_).not.toContain("Authorization");
  const quoting = endpoint(partners, "reservations.create");
  const request = { ...quoting.request!, examples: { one: { value: { rider_ref: "it's" } } } };
  expect(curlExample({ ...quoting, request }, about.baseUrl)).toContain(String.raw`it'\''s`);
});
