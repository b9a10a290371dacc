import { expect, it } from "vitest";
import { openBrowser } from "./browser.harness.ts";

const { world, visitAs } = openBrowser();

it("a partner finds a station in the table, and its address keeps what was looked for", async () => {
  const { open } = await visitAs("partner viewer");
  const page = await open("/");
  await page.waitForURL(`**/dashboard/partners/${world.partnerId}/overview`);
  await page.getByRole("link", { name: "Stations" }).click();
  await page.getByText("60 stations, page 1 of 2").waitFor();
  await page.getByRole("searchbox", { name: "Name or id" }).fill("mill 2");
  await page.getByText("1 of 60 stations").waitFor();
  await page.reload();
  await page.getByRole("cell", { name: "Old Mill 2" }).waitFor();
  expect(await page.getByRole("row").count()).toBe(2);
});

it("the table is sorted by its headers, with the keyboard too", async () => {
  const { open } = await visitAs("partner viewer");
  const page = await open(`/partners/${world.partnerId}/stations`);
  await page.getByRole("button", { name: "Bikes" }).focus();
  const order = () => page.getByRole("columnheader", { name: "Bikes" }).getAttribute("aria-sort");
  await page.keyboard.press("Enter");
  await expect.poll(order).toBe("ascending");
  await page.keyboard.press("Enter");
  await page.waitForURL(/sort=-bikes/);
  await expect.poll(order).toBe("descending");
  const counts = await page.locator("tbody td:nth-child(3)").allTextContents();
  expect(counts.map(Number)).toEqual(counts.map(Number).toSorted((one, other) => other - one));
});

it("the map moves and zooms by the keyboard, and shows all again", async () => {
  const { open } = await visitAs("operator viewer");
  const page = await open("/operator/stations?availability=empty");
  await page.getByText(/of 60 stations/).waitFor();
  const map = page.getByRole("application", { name: /Map of the stations/ });
  await page.emulateMedia({ reducedMotion: "reduce" });
  const picture = () => map.evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());
  await map.focus();
  const all = await picture();
  await page.keyboard.press("+");
  await page.keyboard.press("ArrowLeft");
  await expect.poll(picture).not.toBe(all);
  await page.keyboard.press("0");
  await expect.poll(picture).toBe(all);
});

it("where nothing matches, the page says how to see more", async () => {
  const { open } = await visitAs("partner admin");
  const page = await open(`/partners/${world.partnerId}/stations?q=atlantis`);
  await page.getByRole("heading", { name: "No station matches" }).waitFor();
  await page.getByRole("button", { name: "Show all stations" }).click();
  await page.getByText("60 stations, page 1 of 2").waitFor();
});
