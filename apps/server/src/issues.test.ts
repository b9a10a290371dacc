import { operatorContract, partnerContract } from "@bikeshare/contract";
import { sandboxContract } from "@bikeshare/contract/sandbox";
import { expect, test } from "vitest";
import type { ZodTypeAny } from "zod";
import { createBatchResults, readableItems } from "./city/fleet/batch.ts";
import { describeIssues, type Whole } from "./issues.ts";

function issuesOf(schema: ZodTypeAny, value: unknown, whole: Whole): string | undefined {
  const parsed = schema.safeParse(value);
  return parsed.success ? undefined : describeIssues(parsed.error.issues, whole);
}

test.each([
  [{ id: "a", vehicle_state: "on_trip" }, /^vehicle_state must be one of available, non_operational/],
  [{ id: "a", lat: "47" }, /^lat must be a number, not a string\.$/],
  [{ id: "a", lat: 91, lon: -181 }, /^lat must be at most 90; lon must be at least -180\.$/],
  [{ id: "a", lat: 1 }, /^lon must be given with lat\.$/],
  [{ id: "a", current_range_meters: 1.5 }, /^current_range_meters must be an integer, not a number with a fraction\.$/],
  [{ id: "a", current_range_meters: -1 }, /^current_range_meters must be at least 0\.$/],
  [{ id: "a", number: "" }, /^number must not be empty\.$/],
  [{ id: null }, /^id must not be null: it must be a string\.$/],
  [{ id: "a", x: 1, y: 2 }, /^unknown fields x, y of the item\.$/],
  [{}, /^id must be given\.$/],
  [undefined, /^the item must be given\.$/],
])("an issue of an item names the field, what is wrong with it and the bound: %j", (item, message) => {
  const results = createBatchResults();
  readableItems(operatorContract.bikes.upsert.body.parse({ items: [item] }).items, results);
  const [result] = results.all().results;
  expect(result).toMatchObject({ outcome: "failed", error: { error: "invalid_parameter" } });
  expect(result?.error?.message).toMatch(message);
});

test.each([
  [undefined, "the body must be given"],
  [{}, "station_id or bike_id must be given"],
  [{ bike_id: "a", hold_minutes: 31 }, "hold_minutes must be between 1 and 30"],
  [{ bike_id: "a", hold_minutes: "5" }, "hold_minutes must be a number, not a string"],
  [{ bike_id: 5 }, "bike_id must be a string, not a number"],
])("an issue of a body does so too: %j", (body, message) => {
  const described = issuesOf(partnerContract.reservations.create.body, body, "body");
  expect(described).toContain(message);
});

test("an issue of a value that has one of several forms names them", () => {
  const { addFault } = sandboxContract;
  expect(issuesOf(addFault.body, { status: 404 }, "body")).toBe("status must be one of 429, 500, 503, timeout");
  expect(issuesOf(addFault.body, {}, "body")).toBe("status must be given");
  const { system, stationFacts } = operatorContract;
  const texts = "name must be a string, or an array of objects with text and language";
  expect(issuesOf(system.set.body, { name: 5 }, "body")).toBe(texts);
  expect(issuesOf(system.set.body, { name: [{ text: 5, language: "nb" }] }, "body")).toBe(texts);
  const area = { type: "Polygon", coordinates: [] };
  expect(issuesOf(stationFacts.set.body, { station_area: area }, "body")).toContain(
    "station_area.type must be one of MultiPolygon",
  );
});

test("an issue of a query string does so too", () => {
  const query = partnerContract.rides.list.query;
  expect(issuesOf(query, { colour: "red", size: "1" }, "query")).toBe("unknown parameters colour, size");
  expect(issuesOf(query, { status: "lost" }, "query")).toBe("status must be one of started, completed, cancelled");
  expect(issuesOf(query, { limit: "0" }, "query")).toBe("limit must be an integer, 1 or more");
});
