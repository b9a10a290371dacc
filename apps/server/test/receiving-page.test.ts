import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createOpenApiDocument } from "@bikeshare/contract/openapi";
import { expect, it } from "vitest";
import { MAX_IN_FLIGHT_PER_ENDPOINT } from "../src/webhooks/dispatcher/lanes.ts";
import { MAX_TRIES, RETRY_DELAYS_MS } from "../src/webhooks/rules/after-attempt.ts";
import { senderLimits } from "../src/webhooks/sender/connection.ts";
import { startTestApp } from "./app.ts";
import { openDispatchHarness } from "./webhooks/dispatcher.harness.ts";

const page = readFileSync(join(import.meta.dirname, "../../../docs/receiving-webhooks.md"), "utf8");
const followingPage = readFileSync(join(import.meta.dirname, "../../../docs/following-changes.md"), "utf8");
const UNITS: Readonly<Record<string, number>> = { s: 1_000, min: 60_000, h: 3_600_000 };

function cellsOf(row: string): string[] {
  const [, cells = ""] = new RegExp(`^\\| ${row} \\|(.*)\\|$`, "m").exec(page) ?? [];
  return cells.split("|").map((cell) => cell.trim());
}

it("the page for receivers shows the retries as they are made, and how many come at a time", () => {
  const delays = cellsOf("after").map((cell) => {
    const [amount = "", unit = "s"] = cell.split(" ");
    return Number(amount) * (UNITS[unit] ?? Number.NaN);
  });
  expect(delays).toEqual(RETRY_DELAYS_MS);
  expect(cellsOf("attempt").at(-1)).toBe(String(MAX_TRIES));
  expect(page).toContain(`At most ${MAX_IN_FLIGHT_PER_ENDPOINT} deliveries`);
});

it("the introduction of the reference shows how long an attempt may take, and how often and how long it is tried", () => {
  const { description } = createOpenApiDocument({ baseUrl: "https://bikes.example", version: "1" }).info;
  const hours = RETRY_DELAYS_MS.reduce((sum, delay) => sum + delay, 0) / 3_600_000;
  const [, first = 0, second = 0, third = 0] = RETRY_DELAYS_MS;
  expect(description).toContain(`any 2xx within ${senderLimits.totalTimeoutMs / 1_000} seconds`);
  expect(description).toContain(
    `${MAX_TRIES} times in about ${Math.round(hours)} hours, after ${first / 1_000} s, ${second / 1_000} s, ${third / 60_000} min and so on`,
  );
});

it("the event that a delivery tells of is found by the delivery's id as the page for receivers says", async () => {
  const eventOf = (deliveryId: string) => `event_${deliveryId.slice("delivery_".length, -6)}`;
  const [, delivery = "", event = ""] = /`(delivery_\w+)` belongs to the event `(event_\w+)`/.exec(page) ?? [];
  expect(eventOf(delivery)).toBe(event);
  const harness = await openDispatchHarness();
  await harness.endpoint();
  await harness.endpoint();
  await harness.happen(3);
  const made = await harness.rows<{ id: string; event_id: string }>(
    "select id, event_id from webhook_deliveries where system_id = $1",
  );
  await harness.close();
  expect(made).toHaveLength(6);
  expect(made.map(({ id }) => eventOf(id))).toEqual(made.map(({ event_id: id }) => id));
});

it("the requests that the page on following changes gives follow a list and lead on", async () => {
  const [first = "", next = ""] = [...followingPage.matchAll(/\$BASE_URL(\/v1\/bikes\?\S+?)"/g)].map(
    ([, path = ""]) => path,
  );
  const app = await startTestApp();
  const checkpointOf = async (path: string) =>
    ((await (await app.get(path)).json()) as { checkpoint?: string }).checkpoint;
  const checkpoint = await checkpointOf(first);
  expect(await checkpointOf(next.replace("$CHECKPOINT", encodeURIComponent(checkpoint ?? "")))).toBe(checkpoint);
  await app.close();
});
