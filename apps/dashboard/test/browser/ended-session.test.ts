import type { BrowserContext, Page } from "playwright-core";
import { expect, it } from "vitest";
import { inspect, openBrowser } from "./browser.harness.ts";
import { callAs } from "./console-client.ts";
import { createPartner } from "./partners.ts";

const { world, visitWith, allow } = openBrowser();

const TYPED = "https://receiver.example:8443/typed";

/** Opens the form of a webhook as a partner's admin, types into it, and ends the session before it is saved. */
async function typing(name: string) {
  const partner = await createPartner(world, name);
  const cookie = await partner.signIn("admin");
  const { context, open } = await visitWith(cookie);
  const page = await open(`/partners/${partner.id}/webhook`);
  await page.getByRole("textbox", { name: "Address" }).fill(TYPED);
  await page.getByRole("checkbox", { name: "station.offline" }).check();
  const cookies = await context.cookies();
  await context.clearCookies();
  allow(/401/);
  await page.getByRole("button", { name: "Save" }).click();
  const dialog = page.getByRole("dialog", { name: "Your session has ended" });
  await dialog.waitFor();
  return { partner, cookie, cookies, context, page, dialog };
}

/** Simulates the return from another tab in which somebody has signed in. */
async function comeBack(page: Page, context: BrowserContext, cookies: Awaited<ReturnType<BrowserContext["cookies"]>>) {
  await context.addCookies(cookies);
  await page.evaluate(() => dispatchEvent(new Event("focus")));
}

it("who signs in again finds the form as it was typed, and saves it", async () => {
  const { partner, cookie, cookies, context, page, dialog } = await typing("Is Called Away");
  // While the session is ended, nobody can read the page's content.
  expect(await page.getByRole("textbox").count()).toBe(0);
  expect(await page.getByText("Is Called Away").isVisible()).toBe(false);
  await inspect(page, "session-ended");
  await page.evaluate(() => dispatchEvent(new Event("focus")));
  await dialog.waitFor();
  await comeBack(page, context, cookies);
  await dialog.waitFor({ state: "detached" });
  expect(await page.getByRole("textbox", { name: "Address" }).inputValue()).toBe(TYPED);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("The webhook is saved.").waitFor();
  const { data } = await (await callAs(cookie, world.url)).webhook.list({ params: partner.params });
  expect(data).toMatchObject([{ url: TYPED, events: ["station.offline"] }]);
});

it("a lost connection that comes back leaves the form as it was typed", async () => {
  const { cookies, context, page, dialog } = await typing("Loses The Connection");
  allow(/401|ERR_FAILED/);
  const address = "**/console/v1/session";
  await page.route(address, (route) => route.abort());
  await page.evaluate(() => dispatchEvent(new Event("focus")));
  await page.getByText("Connection lost").waitFor();
  // Once the connection is back, the page reads everything again, also who is signed in: nobody.
  const answered = page.waitForResponse((response) => response.url().endsWith("/console/v1/session"));
  await page.unroute(address);
  expect((await answered).status()).toBe(401);
  await page.getByText("Connection lost").waitFor({ state: "detached" });
  await comeBack(page, context, cookies);
  await dialog.waitFor({ state: "detached" });
  expect(await page.getByRole("textbox", { name: "Address" }).inputValue()).toBe(TYPED);
});

it("somebody else who signs in finds nothing of what was typed", async () => {
  const { partner, context, page, cookies } = await typing("Shares A Computer");
  const [name = "", value = ""] = (await partner.signIn("admin")).split("=");
  await comeBack(
    page,
    context,
    cookies.map((cookie) => ({ ...cookie, name, value })),
  );
  await expect.poll(() => page.getByRole("textbox", { name: "Address" }).inputValue()).toBe("");
});

it("where nothing was typed, or is given up, the sign-in page leads back to the page", async () => {
  const { partner, page, dialog } = await typing("Gives Up");
  await dialog.getByRole("button", { name: "Leave without it" }).click();
  await page.waitForURL(/sign-in\?next=/);
  expect(new URL(page.url()).searchParams.get("next")).toBe(`/partners/${partner.id}/webhook`);
});

/** Saves a new webhook as a partner's admin, and shows its secret. */
async function saved(name: string) {
  const partner = await createPartner(world, name);
  const { context, open } = await visitWith(await partner.signIn("admin"));
  const page = await open(`/partners/${partner.id}/webhook`);
  await page.getByRole("textbox", { name: "Address" }).fill(TYPED);
  await page.getByRole("checkbox", { name: "station.offline" }).check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("The webhook is saved.").waitFor();
  await page.getByRole("button", { name: "Show the secret" }).click();
  const shown = page.getByRole("group", { name: "The newest secret" });
  const secret = await shown.innerText();
  expect(secret).toMatch(/^whsec_/);
  const end = async () => {
    const cookies = await context.cookies();
    await context.clearCookies();
    allow(/401/);
    await page.getByRole("button", { name: "Rotate the secret" }).click();
    return cookies;
  };
  return { context, page, shown, secret, end };
}

it("what is shown once is gone from the page that is kept, and does not come back", async () => {
  const { context, page, shown, secret, end } = await saved("Shows A Secret");
  const address = page.getByRole("textbox", { name: "Address" });
  await address.fill(`${TYPED}/again`);
  await page.getByRole("heading", { name: "Signature debugger" }).click();
  const pasted = page.getByRole("textbox", { name: "Secret", exact: true });
  await pasted.fill(secret);
  // The success of another action does not count as saving the typed text.
  await page.getByRole("button", { name: "Show the secret" }).click();
  await expect.poll(() => page.getByRole("button", { name: "Show the secret" }).isEnabled()).toBe(true);
  const cookies = await end();
  const dialog = page.getByRole("dialog", { name: "Your session has ended" });
  await dialog.waitFor();
  expect(await page.content()).not.toContain(secret);
  await comeBack(page, context, cookies);
  await dialog.waitFor({ state: "detached" });
  expect(await address.inputValue()).toBe(`${TYPED}/again`);
  expect(await pasted.inputValue()).toBe("");
  expect(await shown.count()).toBe(0);
  expect(await page.content()).not.toContain(secret);
});

it("a page on which everything typed is saved is not kept", async () => {
  const { page, secret, end } = await saved("Has Saved It");
  await end();
  await page.waitForURL(/sign-in\?next=/);
  expect(await page.content()).not.toContain(secret);
});
