import { expect, test } from "vitest";
import { deprecationHeaders } from "./deprecation.ts";
import { getEndpoint } from "./endpoint.ts";
import { describeContract } from "./openapi.ts";
import { station } from "./stations.ts";

const deprecated = { since: "2027-01-31", sunset: "2028-01-31", successor: "GET /v1/stations/:id" };
const kept = getEndpoint("/v1/stations/:id", "stations:read", station, { summary: "A station" });
const retired = { ...kept, path: "/v1/docks/:id", metadata: { ...kept.metadata, deprecated } } as const;

test("the headers give the date as a structured field, the end as an HTTP date, and the successor's path", () => {
  expect(deprecationHeaders(deprecated)).toEqual({
    deprecation: "@1801353600",
    sunset: "Mon, 31 Jan 2028 00:00:00 GMT",
    link: '</docs/reference>; rel="deprecation"; type="text/html", </v1/stations>; rel="successor-version"',
  });
  expect(deprecationHeaders({ ...deprecated, successor: undefined })["link"]).not.toContain("successor-version");
});

test("the document marks a deprecated endpoint, says until when and what to use, and declares the headers of each answer", () => {
  const { paths } = describeContract({ docks: { get: retired }, stations: { get: kept } });
  const operation = paths["/v1/docks/{id}"]?.get;
  expect(operation).toMatchObject({ deprecated: true, "x-sunset": deprecated.sunset });
  expect(operation?.description).toContain(
    "**Deprecated since 2027-01-31; a release from 2028-01-31 on may lack this endpoint.** Use `GET /v1/stations/:id` instead.",
  );
  for (const response of Object.values(operation?.responses ?? {}))
    expect(Object.keys(response.headers ?? {})).toEqual(expect.arrayContaining(["Deprecation", "Sunset", "Link"]));
  const other = paths["/v1/stations/{id}"]?.get;
  expect(other).not.toHaveProperty("deprecated");
  expect(JSON.stringify(other)).not.toMatch(/Deprecat|Sunset/);
});
