import { expect, it } from "vitest";
import { inspect, openBrowser } from "./browser.harness.ts";

const { world, visitAs } = openBrowser();

it("a partner sees what their keys may call, and each endpoint opens at its description in the reference", async () => {
  const { open } = await visitAs("partner admin");
  const page = await open(`/partners/${world.partnerId}/api?q=POST+reservations`);
  await page.getByText("reservations:write").waitFor();
  await inspect(page, "reference");
  await page.getByRole("link", { name: "Reserve a bike" }).click();
  await page.waitForURL(/\/docs\/reference#partners\/tag\/reservations\/POST\/v1\/reservations$/);
  const description = page.getByRole("heading", { name: "Reserve a bike" }).first();
  await description.waitFor();
  await expect.poll(() => description.evaluate((element) => element.getBoundingClientRect().top)).toBeLessThan(600);
});

it("the operator's endpoints open at their descriptions too", async () => {
  const { open } = await visitAs("operator admin");
  const page = await open("/operator/api?q=rides/start");
  const link = page.getByRole("navigation", { name: "Endpoints" }).getByRole("link");
  const name = await link.innerText();
  await link.click();
  await page.waitForURL(/\/docs\/operator#/);
  const description = page.getByRole("heading", { name }).first();
  await description.waitFor();
  await expect.poll(() => description.evaluate((element) => element.getBoundingClientRect().top)).toBeLessThan(600);
});
