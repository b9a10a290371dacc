import { expect, it } from "vitest";
import { inspect, openBrowser } from "./browser.harness.ts";

const { visitAs, allow } = openBrowser();

it("the operator opens an alert for a station, found by its name, in two languages, and ends it", async () => {
  const { open } = await visitAs("operator admin");
  const page = await open("/operator/alerts");
  await page.getByRole("heading", { name: "No open alerts" }).waitFor();
  await page.getByRole("button", { name: "Open an alert" }).click();
  const form = page.getByRole("dialog");
  const stations = form.getByRole("combobox", { name: "Stations" });
  await form.getByRole("textbox", { name: "Summary", exact: true }).fill("Works at the square: no bikes until Friday");
  await form.getByRole("button", { name: "Add a language to Summary" }).click();
  await form.getByLabel("Language of Summary, 2").fill("nowhere-land");
  await form.getByRole("textbox", { name: "Summary, nowhere-land" }).fill("Bauarbeiten am Platz");
  await form.getByRole("textbox", { name: "Description", exact: true }).fill("The nearest station is at the ferry.");
  await form.getByLabel("Ends").fill("2999-03-20T18:00");
  await stations.pressSequentially("no such station");
  await stations.press("Enter");
  expect(await stations.evaluate((input: HTMLInputElement) => input.validationMessage)).toMatch(/^Choose one of/);
  await stations.fill("");
  await stations.pressSequentially("old mill 1");
  await stations.press("Enter");
  await form.getByRole("button", { name: "Remove Old Mill 1" }).waitFor();
  await inspect(page, "operator-alert-open");
  await form.getByRole("button", { name: "Open", exact: true }).click();
  await form
    .getByRole("alert")
    .getByText(/language/)
    .waitFor();
  allow(/400/);
  await form.getByLabel("Language of Summary, 2").fill("de");
  await form.getByRole("button", { name: "Open", exact: true }).click();
  await page.getByRole("cell", { name: /Works at the square.* \(.., de\)/ }).waitFor();
  await page.getByRole("cell", { name: "Old Mill 1", exact: true }).waitFor();
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
