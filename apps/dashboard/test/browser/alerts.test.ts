import { expect, it } from "vitest";
import { inspect, openBrowser } from "./browser.harness.ts";

const { visitAs, allow } = openBrowser();

it("the operator opens an alert for a station, and ends it; a wrong station is refused in words", async () => {
  const { open } = await visitAs("operator admin");
  const page = await open("/operator/alerts");
  await page.getByRole("heading", { name: "No open alerts" }).waitFor();
  await page.getByRole("button", { name: "Open an alert" }).click();
  const form = page.getByRole("dialog");
  await form.getByLabel("Summary").fill("Works at the square: no bikes until Friday");
  await form.getByLabel("Description").fill("The nearest station is at the ferry.");
  await form.getByLabel("Ends").fill("2999-03-20T18:00");
  await form.getByLabel("Stations").fill("station-3, nowhere");
  await inspect(page, "operator-alert-open");
  await form.getByRole("button", { name: "Open", exact: true }).click();
  await page.getByText("station_ids names stations that there are not: nowhere.").waitFor();
  allow(/400/);
  await form.getByLabel("Stations").fill("station-3");
  await form.getByRole("button", { name: "Open", exact: true }).click();
  await page.getByRole("cell", { name: /Works at the square/ }).waitFor();
  await inspect(page, "operator-alerts");
  await page.getByRole("button", { name: /^End the alert/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "End", exact: true }).click();
  await page.getByRole("heading", { name: "No open alerts" }).waitFor();
  await page.getByRole("button", { name: "Status: Open" }).click();
  await page.getByRole("button", { name: "Ended in the last 90 days" }).click();
  await page.getByRole("cell", { name: /Works at the square/ }).waitFor();
  await inspect(page, "operator-alerts-ended");
});

it("a viewer of the operator sees alerts, and is offered no change", async () => {
  const { open } = await visitAs("operator viewer");
  const page = await open("/operator/alerts?status=ended");
  await page.getByRole("heading", { name: "Alerts", level: 1 }).waitFor();
  expect(await page.getByRole("button", { name: /^(Open|End)/ }).count()).toBe(0);
});
