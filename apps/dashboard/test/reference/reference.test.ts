import {
  createGbfsOpenApiDocument,
  createOpenApiDocument,
  createOperatorOpenApiDocument,
} from "@bikeshare/contract/openapi";
import { expect, it } from "vitest";
import { endpointsOf, matchesEndpoint, type OpenApiDocument } from "../../src/pages/reference/openapi.ts";

const about = { baseUrl: "https://bikes.example", version: "1" };
// Converts the documents to JSON and back, as the browser gets them.
const read = (document: object) => JSON.parse(JSON.stringify(document)) as OpenApiDocument;
const partners = read(createOpenApiDocument(about));
const operator = read(createOperatorOpenApiDocument(about));
const gbfs = read(createGbfsOpenApiDocument(about));

it("every endpoint of every document stands in a group, with a summary and a link of its own", () => {
  for (const document of [partners, operator, gbfs]) {
    const endpoints = endpointsOf(document);
    expect(endpoints.length).toBeGreaterThan(5);
    for (const { tag, summary } of endpoints) {
      expect(document.tags.map(({ name }) => name)).toContain(tag);
      expect(summary).not.toBe("");
    }
    expect(new Set(endpoints.map(({ anchor }) => anchor)).size).toBe(endpoints.length);
  }
});

it("an endpoint is found by its route or its words", () => {
  const find = (typed: string) =>
    endpointsOf(partners)
      .filter((each) => matchesEndpoint(each, typed))
      .map(({ method, path }) => `${method} ${path}`);
  expect(find("POST /v1/reservations")).toEqual(["POST /v1/reservations"]);
  expect(find("cancel")).toEqual(["DELETE /v1/reservations/{id}"]);
  expect(find("nothing like it")).toEqual([]);
});

it("an endpoint names the scope that a key needs", () => {
  const scopeOf = (document: OpenApiDocument, path: string) =>
    endpointsOf(document).find((endpoint) => endpoint.path === path)?.scope;
  expect(scopeOf(partners, "/v1/rides")).toBe("rides:read");
  expect(scopeOf(partners, "/v1/me")).toBeUndefined();
});
