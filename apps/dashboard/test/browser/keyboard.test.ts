import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { navigationName, openBrowser } from "./browser.harness.ts";
import { API_POLL, callAs } from "./console-client.ts";
import { closeStations, createPartner } from "./partners.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

const { world, visitWith } = openBrowser();

let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver({ status: 503, headers: { "retry-after": "3600" } });
});
afterAll(() => receiver.close());

it("the keyboard alone sets an address, sends a test, opens a delivery and resends it, and shows where it is", async () => {
  const partner = await createPartner(world, "Keyboard Club");
  const cookie = await partner.signIn("admin");
  const { page, open } = await visitWith(cookie);
  await open(`/partners/${partner.id}/overview`);
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  await press(page, "Webhook", "Enter");
  await page.getByRole("heading", { name: "Webhook", level: 1 }).waitFor();
  await press(page, "Address", receiver.url);
  await press(page, "station.offline", " ");
  await press(page, "Save", "Enter");
  await page.getByText("The webhook is saved.").waitFor();
  await press(page, "Send a test", "Enter");
  // The result is added above the focused element while it is loading.
  await page.getByRole("link", { name: "Its page" }).waitFor();
  await press(page, "Its page", "Enter");
  await page.waitForURL(/deliveries\/delivery_/);
  await page.getByRole("tablist", { name: "Request body" }).waitFor();

  await closeStations(world, "station-54");
  // An answer is recorded a moment after it was given, and the list is as it was when it was opened.
  const { deliveries } = await callAs(cookie, world.url);
  const query = { status: "unsuccessful" } as const;
  const failures = async () => (await deliveries.list({ params: partner.params, query })).data;
  await expect.poll(async () => (await failures()).length, API_POLL).toBe(2);
  await press(page, navigationName("Deliveries"), "Enter");
  await page.getByText("server error (5xx)").nth(1).waitFor();
  await press(page, /^station.offline/, "Enter");
  receiver.answer = { status: 204 };
  await press(page, "Resend", "Enter");
  await page.getByRole("heading", { level: 1 }).getByText("arrived").waitFor();
});

/** Creates a partner with three deliveries of one webhook, of which the second has succeeded. @returns their ids, newest first */
async function partnerWithDeliveries(name: string) {
  const partner = await createPartner(world, name);
  const cookie = await partner.signIn("admin");
  const console = await callAs(cookie, world.url);
  const { params } = partner;
  await console.webhook.set({ params, body: { url: receiver.url, events: ["station.offline"] } });
  for (const [index, status] of [503, 204, 503].entries()) {
    receiver.answer = { status, headers: { "retry-after": "3600" } };
    await closeStations(world, `station-${44 + index}`);
    const count = async () => (await console.deliveries.list({ params, query: { status: "pending" } })).data;
    await expect.poll(async () => (await count()).filter(({ attempts }) => attempts === 0).length, API_POLL).toBe(0);
  }
  const { data } = await console.deliveries.list({ params, query: {} });
  return { partner, cookie, ids: data.map(({ id }) => id) };
}

it("j and k move in the list beside a delivery, and lead to failing deliveries where it is alone", async () => {
  const { partner, cookie, ids } = await partnerWithDeliveries("Key Club");
  const { page, open } = await visitWith(cookie, { viewport: { width: 1440, height: 900 } });
  const reaches = (index: number) => page.waitForURL(`**/deliveries/${ids[index]}*`);
  const title = page.getByRole("heading", { name: "station.offline", level: 1 });
  await open(`/partners/${partner.id}/deliveries`);
  await page.getByRole("link", { name: "station.offline" }).first().click();
  await reaches(0);
  await title.waitFor();
  await page.keyboard.press("j");
  await reaches(1);
  // One press has made one step: the list's, and not also one to the next failing delivery.
  await page.goBack();
  await reaches(0);
  // Escape closes an open menu, and not also the page beside the list.
  const account = page.getByRole("button", { name: /^Account of/ });
  await account.click();
  await page.keyboard.press("Escape");
  await expect.poll(() => account.getAttribute("aria-expanded")).toBe("false");
  await reaches(0);

  await page.setViewportSize({ width: 1280, height: 900 });
  await page.getByRole("link", { name: "Older failing j" }).waitFor();
  await page.keyboard.press("j");
  await reaches(2);
  await page.getByRole("link", { name: "Newer failing k" }).waitFor();
  // No delivery is older, so the key is left to the browser.
  await page.evaluate(() => {
    addEventListener("keydown", (event) => {
      setTimeout(() => (document.documentElement.dataset[event.key] = String(event.defaultPrevented)));
    });
  });
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  await reaches(0);
  const handled = (key: string) => page.evaluate((pressed) => document.documentElement.dataset[pressed], key);
  await expect.poll(() => handled("k")).toBe("true");
  expect(await handled("j")).toBe("false");
});

interface Stop {
  readonly name: string;
  /** Whether the focused element has a visible outline. */
  readonly isMarked: boolean;
  readonly isInSight: boolean;
}

/**
 * Describes the focused element. Undefined: nothing has the focus, as between the last and the first element of the page.
 * Runs in the browser.
 */
function describeFocus(): Stop | undefined {
  const element = document.activeElement;
  if (element === null || element === document.body) return undefined;
  const [label] = (element instanceof HTMLInputElement && element.labels) || [];
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  const { top, bottom, width } = element.getBoundingClientRect();
  return {
    name: element.getAttribute("aria-label") ?? label?.textContent ?? element.textContent,
    isMarked: outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 2,
    isInSight: width > 0 && bottom > 0 && top < innerHeight,
  };
}

/** Most presses of Tab. No page has as many focusable elements. */
const MAX_STOPS = 120;

/**
 * Presses Tab until the element with this name has the focus, then presses a key or types a text. Checks at each element
 * that the focus is visible.
 */
async function press(page: Page, name: string | RegExp, keys: string): Promise<void> {
  const passed: string[] = [];
  for (let stops = 0; stops < MAX_STOPS; stops++) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate(describeFocus);
    if (stop === undefined) continue;
    expect(stop, `the focus on “${stop.name}”`).toMatchObject({ isMarked: true, isInSight: true });
    passed.push(stop.name);
    if (typeof name === "string" ? stop.name !== name : !name.test(stop.name)) continue;
    if (keys.length > 1 && keys !== "Enter") await page.keyboard.type(keys);
    else await page.keyboard.press(keys);
    return;
  }
  throw new Error(`Tab leads to no “${String(name)}”, but to: ${passed.join(", ")}`);
}
