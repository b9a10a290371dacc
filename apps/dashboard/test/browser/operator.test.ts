import type { Locator } from "playwright-core";
import { expect, it } from "vitest";
import { inspect, openBrowser, setFilter } from "./browser.harness.ts";

const { world, visitAs, visitAsNewPerson, allow } = openBrowser();

it("the operator adds a partner, suspends it, resumes it, and removes it by typing its name", async () => {
  const { open } = await visitAsNewPerson(null);
  const page = await open("/operator/partners");
  await page.getByRole("link", { name: "Transit App" }).waitFor();
  await page.getByRole("button", { name: "Add a partner" }).click();
  await page.getByLabel("Name").fill("Map Maker");
  await page.getByLabel("Active reservations, at most").fill("25");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("heading", { name: "Map Maker", level: 1 }).waitFor();
  await page.getByText("0 of 25").waitFor();
  const choose = async (action: string) => {
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("button", { name: action, exact: true }).click();
  };
  await choose("Suspend");
  await page.getByRole("dialog").getByRole("button", { name: "Suspend" }).click();
  await page.getByText(/its keys are refused and its deliveries are held/).waitFor();
  await inspect(page, "operator-partner-suspended");
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Resume" }).waitFor({ state: "detached" });
  await choose("Remove");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Remove for good" }).waitFor();
  expect(await dialog.getByRole("button", { name: "Remove for good" }).isDisabled()).toBe(true);
  await dialog.getByRole("textbox").fill("Map Maker");
  await inspect(page, "operator-partner-remove");
  await dialog.getByRole("button", { name: "Remove for good" }).click();
  await page.getByText(/for good. Its past reservations and the logs stay/).waitFor();
});

it("values that a partner cannot have are refused at their fields, and a failure is shown above the dialog", async () => {
  const { open, context } = await visitAs("operator admin");
  const page = await open("/operator/partners");
  await page.getByRole("button", { name: "Add a partner" }).click();
  const add = page.getByRole("button", { name: "Add", exact: true });
  const name = page.getByLabel("Name");
  await name.fill("transit app");
  await add.click();
  const taken = page.getByText(/has the name "Transit App". Choose another./);
  await taken.waitFor();
  expect(await name.getAttribute("aria-invalid")).toBe("true");
  await name.fill("Bus app");
  await taken.waitFor({ state: "detached" });

  const limit = page.getByLabel("Active reservations, at most");
  await limit.fill("0");
  await add.click();
  expect(await limit.evaluate((field: HTMLInputElement) => field.validationMessage)).toMatch(
    /greater than or equal to 1/,
  );
  expect(await limit.evaluate((field) => field === document.activeElement)).toBe(true);

  await limit.fill("");
  await context.setOffline(true);
  await add.click();
  await page.locator(".toasts:popover-open").getByText("The server could not be reached.").waitFor();
  expect(await page.locator("dialog[open]").count()).toBe(1);
  await context.setOffline(false);
  allow(/409|ERR_INTERNET_DISCONNECTED/);
});

/** Tells whether a form would be sent with these texts in the fields of a dialog. */
async function accepts(dialog: Locator, texts: Readonly<Record<string, string>>): Promise<boolean> {
  for (const [label, text] of Object.entries(texts)) await dialog.getByLabel(label).fill(text);
  return dialog.locator("form").evaluate((form: HTMLFormElement) => form.checkValidity());
}

it("numbers and months that the service refuses are refused at their fields", async () => {
  const { open } = await visitAs("operator admin");
  const page = await open("/operator/keys");
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Issue a key" }).click();
  expect(await accepts(dialog, { "Requests per minute": "0" })).toBe(false);
  expect(await accepts(dialog, { "Requests per minute": "1000001" })).toBe(false);
  expect(await accepts(dialog, { "Requests per minute": "1000000" })).toBe(true);

  await open("/operator/exports");
  await page.getByRole("button", { name: "Make a file" }).click();
  expect(await accepts(dialog, { Month: "2026-13" })).toBe(false);
  expect(await accepts(dialog, { Month: "2026-12" })).toBe(true);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Add a schedule" }).click();
  expect(await accepts(dialog, { "Months to keep each file": "0" })).toBe(false);
  expect(await accepts(dialog, { "Months to keep each file": "24" })).toBe(true);

  await open(`/operator/partners/${world.partnerId}`);
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("button", { name: "Key allowance" }).click();
  await dialog.getByLabel("The partner’s admins may create keys").check();
  expect(await accepts(dialog, { "Days until a key expires, at most": "" })).toBe(false);
  expect(await accepts(dialog, { "Days until a key expires, at most": "3651" })).toBe(false);
  expect(await accepts(dialog, { "Days until a key expires, at most": "3650" })).toBe(true);
});

it("a viewer of the operator sees the same, and is offered no change", async () => {
  const { open } = await visitAs("operator viewer");
  const page = await open(`/operator/partners/${world.partnerId}`);
  await page.getByRole("heading", { name: "Transit App", level: 1 }).waitFor();
  expect(await page.getByRole("button", { name: /Change|More actions/ }).count()).toBe(0);
});

it("the audit log is filtered, and its address keeps the filters", async () => {
  const { open } = await visitAs("operator viewer");
  const page = await open("/operator/audit");
  await page.getByRole("cell", { name: "partner.created" }).first().waitFor();
  await setFilter(page, "Action", "import.gbfs");
  await page.waitForURL(/action=import.gbfs/);
  await page.getByText("1 shown").waitFor();
  await page.reload();
  await page.getByRole("cell", { name: "import.gbfs" }).waitFor();
  await setFilter(page, "Subject", "nobody");
  await page.getByRole("heading", { name: "Nothing matches" }).waitFor();
});

it("a partner sees who of the operator looked at its pages", async () => {
  const operator = await visitAs("operator viewer");
  const looked = await operator.open(`/partners/${world.partnerId}/audit`);
  await looked.getByRole("heading", { name: "Audit log" }).waitFor();
  const { open } = await visitAs("partner viewer");
  const page = await open(`/partners/${world.partnerId}/audit?action=console.partner_viewed`);
  await page.getByRole("cell", { name: "Operator viewer" }).first().waitFor();
});

it("the operator sets what planners publish of one bike", async () => {
  const { open } = await visitAs("operator admin");
  const page = await open("/operator/bikes");
  await page.getByRole("row").nth(1).getByRole("link").first().click();
  await page.getByRole("button", { name: "Pricing plan, home station, equipment…" }).click();
  await page.getByLabel("Home station").fill("station-1");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved").first().waitFor();
  await inspect(page, "operator-bike-facts");
});

it("a ride is found in the list, and leads to its stations and what happened there", async () => {
  const { open } = await visitAs("operator viewer");
  const page = await open("/operator/rides?status=completed");
  await page.getByText("12 of 12").waitFor();
  await page.getByRole("button", { name: "Status: completed" }).waitFor();
  await page.getByRole("row").nth(1).getByRole("link").first().click();
  await page.getByRole("heading", { name: /^Ride on/, level: 1 }).waitFor();
  await page
    .getByText("no, too short")
    .or(page.getByText("yes", { exact: true }))
    .waitFor();
  await page.getByText("Ended at Old Mill 1").waitFor();
  await page.getByRole("link", { name: "Old Mill 1" }).click();
  await page.getByRole("heading", { name: "Old Mill 1" }).waitFor();
  await page.getByRole("heading", { name: "No changes" }).waitFor();
  await page.getByRole("link", { name: "Harbour Street 1", exact: true }).first().waitFor();
});

it("a list in which nothing matches says so", async () => {
  const { open } = await visitAs("operator viewer");
  const page = await open("/operator/bikes?vehicle_state=missing");
  await page.getByRole("heading", { name: "Nothing matches" }).waitFor();
  await inspect(page, "operator-bikes-none");
});

it("a list that has nothing yet speaks of no filter", async () => {
  const { page, open } = await visitAs("operator viewer");
  const json = { data: [], next_cursor: null, total: 0, names: { stations: {}, bikes: {} } };
  await page.route(/\/console\/v1\/systems\/[^/]+\/reservations/, (route) => route.fulfill({ json }));
  await open("/operator/reservations");
  await page.getByRole("heading", { name: "No reservations yet" }).waitFor();
  expect(await page.getByText("Remove a filter").count()).toBe(0);
});

it("a station's page is reached from the table of stations: the operator's says more than a partner's", async () => {
  const operator = await visitAs("operator viewer");
  const page = await operator.open("/operator/stations?q=station-3");
  await page.getByRole("link", { name: "Old Mill 1", exact: true }).click();
  await page.waitForURL(/operator\/stations\/station-3$/);
  await page.getByRole("heading", { name: "Offline periods" }).waitFor();
  const partner = await visitAs("partner viewer");
  const table = await partner.open(`/partners/${world.partnerId}/stations?q=station-3`);
  await table.getByRole("link", { name: "Old Mill 1", exact: true }).click();
  await table.waitForURL(/partners\/.*\/stations\/station-3$/);
  await table.getByRole("heading", { name: "The week, hour by hour" }).waitFor();
  await table.getByRole("slider", { name: "Bikes today" }).waitFor();
  expect(await table.getByRole("heading", { name: "Offline periods" }).count()).toBe(0);
});

it("an id that there is not is said to be none", async () => {
  const { open } = await visitAs("operator viewer");
  const page = await open("/operator/bikes/no-such-bike");
  await page.getByRole("heading", { name: "Not found" }).waitFor();
  allow(/404/);
});

it("an admin ends a ride whose end nobody reported, after a question; a viewer is not asked", async () => {
  await operate("bikes", { id: "forgotten-bike", lat: 48.2, lon: 16.4 });
  await operate("rides/start", { id: "forgotten-ride", bike_id: "forgotten-bike" });
  const viewer = await visitAs("operator viewer");
  const seen = await viewer.open("/operator/rides/forgotten-ride");
  await seen.getByText("started", { exact: true }).first().waitFor();
  expect(await seen.getByRole("button", { name: /End/ }).count()).toBe(0);
  const { open } = await visitAs("operator admin");
  const page = await open("/operator/rides?status=started&started_before=2999-01-01T00:00:00Z");
  // The end of a ride that is under way must not read "no station".
  const row = page.getByRole("row", { name: /ride forgotten-ride/ });
  await expect.poll(() => row.getByRole("cell").last().textContent()).toBe("under way");
  await page.getByRole("button", { name: "End this ride" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Cancel" }).waitFor();
  // With screenshots, `inspect` widens the window. That renders the page again and closes the dialog, which is opened again
  // below.
  await inspect(page, "operator-ride-end");
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: /ride forgotten-ride/ }).click();
  await page.getByRole("button", { name: "End this ride" }).click();
  await dialog.getByRole("button", { name: "End this ride" }).click();
  await page.getByText("Ride ended.").waitFor();
  await page.getByRole("heading", { level: 1 }).getByText("completed", { exact: true }).waitFor();
  expect(await page.getByRole("button", { name: "End this ride" }).count()).toBe(0);
  // Makes the bike available again, so that other tests do not see a missing bike.
  await operate("bikes", { id: "forgotten-bike", lat: 48.2, lon: 16.4, vehicle_state: "available" });
});

it("support marks a bike as broken, after a question, and as available again; the audit log names the bike", async () => {
  // Both pages read the bike's rides. On a busy machine one request may get a 503.
  allow(/503/);
  await operate("bikes", { id: "squeaking-bike", number: "0815", lat: 48.2, lon: 16.4 });
  const viewer = await visitAs("operator viewer");
  const seen = await viewer.open("/operator/bikes/squeaking-bike");
  await seen.getByRole("heading", { name: /0815/, level: 1 }).waitFor();
  expect(await seen.getByRole("button", { name: "Mark as broken" }).count()).toBe(0);
  const { open } = await visitAs("operator admin");
  const page = await open("/operator/bikes/squeaking-bike");
  await page.getByRole("button", { name: "Mark as broken" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Mark as broken" }).click();
  await page.getByRole("heading", { level: 1 }).getByText("non operational").waitFor();
  await inspect(page, "operator-bike");
  await page.getByRole("button", { name: "Available again" }).click();
  await page.getByRole("heading", { level: 1 }).getByText("available").waitFor();
  await open("/operator/audit?action=bike.state_set");
  await page.getByRole("link", { name: /0815/ }).first().waitFor();
  await inspect(page, "operator-audit");
});

async function operate(path: string, item: object): Promise<void> {
  const response = await fetch(`${world.url}/operator/v1/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${world.operatorKey}`, "content-type": "application/json" },
    body: JSON.stringify({ items: [item] }),
  });
  expect(await response.json()).toMatchObject({ failed: 0 });
}
