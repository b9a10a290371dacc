import { expect, it } from "vitest";
import { inspect, openBrowser } from "./browser.harness.ts";

const { world, visitAs } = openBrowser();

it("a partner's admin creates a sandbox, plays a scenario in it, and sees on every page that it is one", async () => {
  const { open } = await visitAs("partner admin");
  const page = await open(`/partners/${world.partnerId}/sandbox`);
  expect(await page.getByText("Test data. Live data is not affected.").count()).toBe(0);
  await page.getByRole("button", { name: "Create sandbox" }).click();
  await page.getByText("Test data. Live data is not affected.").waitFor();
  await page.getByText("40 stations and 300 bikes of seed 1").waitFor();
  await page.getByRole("button", { name: "Ride corrected" }).click();
  await page.getByText(/is corrected: it ended at station/).waitFor();
  await inspect(page, "partner-sandbox");
  await page.getByRole("link", { name: "Webhook", exact: true }).click();
  await page.getByRole("heading", { name: "Webhook", level: 1 }).waitFor();
  await page.getByText("Test data. Live data is not affected.").waitFor();
  await page.getByRole("link", { name: "Switch to live" }).click();
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  expect(await page.getByText("Test data. Live data is not affected.").count()).toBe(0);
});
