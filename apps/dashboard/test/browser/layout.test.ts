import { expect, it } from "vitest";
import { inspect, openBrowser } from "./browser.harness.ts";

const { world, visit, visitAs, visitAsNewPerson, allow } = openBrowser();

it("whoever is not signed in is led to the sign-in page, and where they wanted to go is kept", async () => {
  const { open, page } = await visit();
  await open(`/partners/${world.partnerId}/stations?q=mill`);
  await page.waitForURL(/\/dashboard\/sign-in\?/);
  expect(new URL(page.url()).searchParams.get("next")).toBe(`/partners/${world.partnerId}/stations?q=mill`);
  allow(/401/);
});

it("an address that no page has says so, on every device and in both themes", async () => {
  const { open } = await visitAs("partner admin");
  const page = await open("/nowhere");
  await page.getByRole("heading", { name: "Page not found" }).waitFor();
  await inspect(page, "not-found");
});

it("the keyboard alone skips to the page, and opens and closes the account menu", async () => {
  const { open } = await visitAs("partner admin");
  const page = await open("/nowhere");
  await page.getByRole("heading", { name: "Page not found" }).waitFor();
  await page.keyboard.press("Tab");
  await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to the page");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("main");
  const account = page.getByRole("button", { name: "Account of Partner admin" });
  await account.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "Account" }).waitFor();
  const isOpen = () => account.getAttribute("aria-expanded");
  await expect.poll(isOpen).toBe("true");
  await page.keyboard.press("Escape");
  await expect.poll(isOpen).toBe("false");
});

it("the theme that is chosen stays after a reload", async () => {
  const { open } = await visitAs("partner admin", { colorScheme: "light" });
  const page = await open("/nowhere");
  const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  await page.getByRole("button", { name: "Account of Partner admin" }).click();
  const light = await background();
  await page.getByRole("button", { name: "Dark" }).click();
  await expect.poll(background).not.toBe(light);
  const dark = await background();
  await page.reload();
  await page.getByRole("button", { name: "Account of Partner admin" }).waitFor();
  await expect.poll(background).toBe(dark);
});

it("the header of a long table stays in sight while the page scrolls, and one that is too wide scrolls sideways", async () => {
  const { open } = await visitAs("operator viewer");
  const page = await open("/operator/stations");
  await page.getByText("60 stations, page 1 of 2").waitFor();
  const header = page.getByRole("columnheader").first();
  const last = page.getByRole("row").last();
  await last.scrollIntoViewIfNeeded();
  await expect.poll(async () => Math.round((await header.boundingBox())?.y ?? -1)).toBe(0);
  expect((await last.boundingBox())?.y).toBeGreaterThan(100);
  const table = page.getByRole("table");
  await table.evaluate((element) => (element.style.minWidth = "200rem"));
  await expect
    .poll(() => table.evaluate(({ parentElement: box }) => box && getComputedStyle(box).overflowX))
    .toBe("auto");
});

it("on a phone the navigation opens and closes by a button and by Escape", async () => {
  const { open } = await visitAs("partner admin", { viewport: { width: 360, height: 740 } });
  const page = await open("/nowhere");
  const account = page.getByRole("button", { name: "Account of Partner admin" });
  await page.getByRole("button", { name: "Open the navigation" }).click();
  await account.waitFor();
  await inspect(page, "navigation");
  await page.setViewportSize({ width: 360, height: 740 });
  await account.focus();
  await page.keyboard.press("Escape");
  await account.waitFor({ state: "hidden" });
});

it("a lost connection is shown, and gone from the page once the server is there again", async () => {
  const { open, context } = await visitAs("partner admin");
  const page = await open("/nowhere");
  await page.getByRole("button", { name: "Account of Partner admin" }).click();
  await context.setOffline(true);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("Connection lost").waitFor();
  await page.getByText("You are still signed in.").waitFor();
  await context.setOffline(false);
  await page.getByText("Connection lost").waitFor({ state: "detached" });
  allow(/ERR_INTERNET_DISCONNECTED/);
});

it("signing out ends the session", async () => {
  const { open, context } = await visitAsNewPerson(world.partnerId);
  const page = await open("/nowhere");
  const cookies = await context.cookies();
  await page.getByRole("button", { name: "Account of Ada Lovelace" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL(/\/dashboard\/sign-in/);
  await context.addCookies(cookies);
  expect((await context.request.get("/console/v1/session")).status()).toBe(401);
});
