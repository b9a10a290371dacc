import type { Locator, Page } from "playwright-core";
import { afterEach, beforeEach, expect, it } from "vitest";
import { inspect, openBrowser } from "./browser.harness.ts";
import { API_POLL, callAs, callAsOperator } from "./console-client.ts";
import { closeStations, createPartner, type TestPartner } from "./partners.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import { runStatement } from "./service.ts";

const { world, visitWith, allow } = openBrowser();

// A separate receiver for each test, because the partners of earlier tests get events about the same stations.
let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

/** Creates a partner whose webhook gets events about stations that go offline, and a browser of an admin of this partner. */
async function subscribed(name: string) {
  const partner = await createPartner(world, name);
  const cookie = await partner.signIn("admin");
  const console = await callAs(cookie, world.url);
  const { params } = partner;
  await console.webhook.set({ params, body: { url: receiver.url, events: ["station.offline"] } });
  return { partner, console, ...(await visitWith(cookie)) };
}

/** Pauses the webhook, and causes events, whose deliveries are then held. */
async function hold(console: Awaited<ReturnType<typeof callAs>>, { params }: TestPartner, ...stations: string[]) {
  await console.webhook.pause({ params, body: {} });
  const before = (await console.webhook.held({ params })).total;
  await closeStations(world, ...stations);
  await expect
    .poll(async () => (await console.webhook.held({ params })).total, API_POLL)
    .toBe(before + stations.length);
}

/** Returns the error of a field. Runs in the browser. */
function errorOf(field: Element): string {
  const id = field.getAttribute("aria-describedby")?.split(" ").at(-1) ?? "";
  return document.getElementById(id)?.textContent ?? "";
}

/** Clicks "Resume" on the webhook's page. @returns the dialog that asks what to do with held deliveries */
async function askToResume(page: Page, partner: TestPartner) {
  await page.goto(`/dashboard/partners/${partner.id}/webhook`);
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  return page.getByRole("dialog", { name: "Resume the webhook" });
}

it("who resumes a webhook is told how many deliveries are held, and has them sent", async () => {
  const { partner, console, page } = await subscribed("Sends What Was Held");
  await hold(console, partner, "station-24", "station-25", "station-26");
  const before = receiver.received.length;
  const dialog = await askToResume(page, partner);
  await dialog.getByText("3 deliveries are held.").waitFor();
  await inspect(page, "webhook-held");
  await dialog.getByRole("button", { name: "Resume and send the 3 held" }).click();
  await page.getByText("The oldest held delivery is sent as a probe, then the other 2.").waitFor();
  await expect.poll(() => receiver.received.length).toBe(before + 3);
  await page.getByText(/waiting, 0 held$/).waitFor();
});

it("who resumes a webhook is asked, also about what was held since the page has last counted", async () => {
  const { partner, console, page, open } = await subscribed("Counts Anew");
  await console.webhook.pause({ params: partner.params, body: {} });
  await open(`/partners/${partner.id}/webhook`);
  await page.getByText("0 waiting, 0 held").waitFor();
  // From here on the page gets no updates.
  await page.route(/\/webhooks$|\/live/, (route) => route.abort());
  allow(/ERR_FAILED/);
  await hold(console, partner, "station-31");
  await page.getByText("0 waiting, 0 held").waitFor();
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await page.getByRole("dialog", { name: "Resume the webhook" }).getByText("1 delivery is held.").waitFor();
});

it("a page whose event types have failed to load reads them again", async () => {
  const { partner, page, open } = await subscribed("Tries Again");
  const failing = /\/webhook\/events$/;
  await page.route(failing, (route) => route.fulfill({ status: 404 }));
  await open(`/partners/${partner.id}/webhook`);
  const again = page.getByRole("button", { name: "Try again" });
  await again.waitFor();
  await page.unroute(failing);
  await again.click();
  await page.getByRole("heading", { name: "Address and events" }).waitFor();
  allow(/404/);
});

it("held deliveries that are dropped are not sent, and stay in the log as dropped", async () => {
  const { partner, console, page, open } = await subscribed("Drops What Was Held");
  await hold(console, partner, "station-27", "station-28");
  const before = receiver.received.length;
  const dialog = await askToResume(page, partner);
  await dialog.getByRole("button", { name: "Drop them and resume" }).click();
  await page.getByText("2 deliveries dropped.").waitFor();
  await page.getByRole("button", { name: "Pause" }).waitFor();
  await open(`/partners/${partner.id}/deliveries?failure=dropped`);
  await page.getByText("2 deliveries on this page").waitFor();
  expect(receiver.received.length).toBe(before);
});

it("what the operator has paused, a partner is told to leave to the operator, and what it drops meanwhile is said", async () => {
  const { partner, console, page } = await subscribed("Is Paused By The Operator");
  const { params } = partner;
  await hold(console, partner, "station-32", "station-33");
  const dialog = await askToResume(page, partner);
  await dialog.getByText("2 deliveries are held.").waitFor();
  const operator = await callAsOperator(world);
  await operator.endpoints.pause({ params, body: {} });
  allow(/409/);
  await dialog.getByRole("button", { name: "Drop them and resume" }).click();
  await page.getByText("2 deliveries dropped.").waitFor();
  await page.getByText("The operator has paused the webhook: only the operator can resume or remove it.").waitFor();
  await page.reload();
  await page.getByText("Only the operator can resume or remove the webhook.").waitFor();
  expect(await page.getByRole("button", { name: /^(Resume|Remove)$/ }).count()).toBe(0);
});

it("an admin adds a second webhook, and sees of each its own state and deliveries", async () => {
  const { partner, page, open } = await subscribed("Has Two Webhooks");
  await open(`/partners/${partner.id}/webhook`);
  await page.getByRole("link", { name: "Add a webhook" }).click();
  // What another webhook has, or what sends nothing, is refused at its field.
  await page.getByLabel("Name").fill("main");
  await page.getByRole("textbox", { name: "Address" }).fill(`${receiver.url}/staging`);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Another webhook has this name.").waitFor();
  await page.getByText("Choose at least one event.").waitFor();
  await expect.poll(() => page.getByLabel("Name").evaluate((field) => field === document.activeElement)).toBe(true);
  await page.getByLabel("Name").fill("Staging");
  await page.getByRole("checkbox", { name: "station.online" }).check();
  await page.getByText("Only events of some places").click();
  await page.getByRole("textbox", { name: "Stations" }).fill("station-34");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByText(/^In the last 24 hours this would have sent \d+ (delivery|deliveries)/).waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Staging", level: 1 }).waitFor();
  await inspect(page, "webhook-of-several");
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("link", { name: "All webhooks" }).click();
  const staging = page.getByRole("row", { name: /Staging/ });
  await staging.getByText("paused by the partner").waitFor();
  await page.getByRole("row", { name: /Main/ }).getByText("active").waitFor();
  await inspect(page, "webhooks");

  await closeStations(world, "station-34");
  await page.getByRole("row", { name: /Main/ }).getByRole("link", { name: "Deliveries" }).click();
  await page.getByText("1 delivery on this page").waitFor();
  await page.getByLabel("Webhook").selectOption({ label: "All webhooks" });
  await page.getByText("2 deliveries on this page").waitFor();
  await page.getByRole("row", { name: /station.offline.*Main/ }).waitFor();
  await page.getByRole("row", { name: /station.online.*Staging/ }).waitFor();
  await page.getByText("To resend many at once, choose a webhook.").waitFor();
  await inspect(page, "deliveries-of-all");
  await page.getByLabel("Webhook").selectOption({ label: "Staging" });
  await page.getByRole("link", { name: "station.online" }).waitFor();
  expect(new URL(page.url()).searchParams.get("endpoint")).toMatch(/^endpoint_/);
  await inspect(page, "deliveries-of-several");
});

it("what only the service finds wrong with a webhook is said at its field, which gets the focus", async () => {
  const { partner, page, open } = await subscribed("Is Refused At Fields");
  await open(`/partners/${partner.id}/webhook`);
  const save = page.getByRole("button", { name: "Save" });
  const isRefused = async (field: Locator, message: RegExp) => {
    await expect.poll(() => field.evaluate((input) => input === document.activeElement)).toBe(true);
    await expect.poll(() => field.evaluate(errorOf)).toMatch(message);
    expect(await page.getByRole("button", { name: "Dismiss" }).count()).toBe(0);
  };
  const address = page.getByRole("textbox", { name: "Address" });
  await address.fill("https://10.0.0.1:8443/");
  await save.click();
  await isRefused(address, /^Cannot be used: .*WEBHOOK_ALLOW_NETWORKS/);
  await address.fill("https://receiver.example:80/");
  await page.getByText(/WEBHOOK_ALLOW_NETWORKS/).waitFor({ state: "detached" });
  await save.click();
  await isRefused(address, /^Cannot be used: Port 80 is not allowed/);
  await address.fill(receiver.url);

  await page.getByText("Only events of some places").click();
  const stations = page.getByRole("textbox", { name: "Stations" });
  await stations.fill("station-1, nowhere");
  await page.getByRole("button", { name: "Preview" }).click();
  await expect.poll(() => stations.evaluate(errorOf)).toBe('Cannot have "nowhere": there is no such station.');
  await save.click();
  await isRefused(stations, /^Cannot have "nowhere": there is no such station\.$/);
  await stations.fill("");
  const regions = page.getByRole("textbox", { name: "Regions" });
  await regions.fill("nowhere");
  await save.click();
  await isRefused(regions, /^Cannot have "nowhere": there is no such region\.$/);
  await regions.fill("");

  // A station that the second alarm is to watch is gone when the form is saved.
  await page.route(/\/stations$/, async (route) => {
    const answer = await route.fetch();
    const map = (await answer.json()) as { readonly data: readonly object[] };
    await route.fulfill({ json: { ...map, data: [...map.data, { ...map.data[0], id: "gone", name: "Gone" }] } });
  });
  const add = page.getByRole("button", { name: "Add an alarm" });
  await add.click();
  await add.click();
  const at = page.getByRole("group", { name: "Alarm 2" }).getByLabel("At", { exact: true });
  await expect.poll(() => page.locator("option[value=Gone]").count()).toBe(2);
  await at.fill("Gone");
  await page.getByRole("button", { name: "Remove Gone" }).waitFor();
  await save.click();
  await isRefused(at, /^Cannot have "gone": there is no such station\.$/);
  await inspect(page, "webhook-refused");
  allow(/status of 400/);
});

it("who decides later is reminded of held deliveries, and sends them from the reminder", async () => {
  const { partner, console, page } = await subscribed("Decides Later");
  await hold(console, partner, "station-29", "station-30");
  const before = receiver.received.length;
  const dialog = await askToResume(page, partner);
  await dialog.getByText("2 deliveries are held.").waitFor();
  await dialog.getByRole("button", { name: "Resume and decide later" }).click();
  await page.getByText("1 delivery is still held from the last pause.").waitFor();
  // Only the probe is sent.
  await expect.poll(() => receiver.received.length).toBe(before + 1);
  await page.getByRole("button", { name: "Send or drop them" }).click();
  const later = page.getByRole("dialog", { name: "Held deliveries" });
  await later.getByRole("button", { name: "Send the 1 held" }).click();
  await expect.poll(() => receiver.received.length).toBe(before + 2);
});

it("a delivery that is refused leads to its signature, filled in, and to what is wrong with the receiver's secret", async () => {
  const { partner, console, page, open } = await subscribed("Refuses Signatures");
  const { params } = partner;
  receiver.answer = { status: 400, headers: { "retry-after": "3600" }, body: "no signature matches" };
  const before = receiver.received.length;
  const { delivery_id: id } = await console.webhook.test({ params, body: { event: "station.offline" } });
  await expect.poll(() => receiver.received.length).toBe(before + 1);
  const { secret } = await console.webhook.showSecret({ params, body: {} });
  await open(`/partners/${partner.id}/deliveries/${id}`);
  await page.getByRole("heading", { name: "Check this signature" }).click();
  const sent = receiver.received[before];
  expect(await page.getByLabel("Service-Signature").inputValue()).toBe(sent?.headers["service-signature"]);
  expect(await page.getByLabel("Body", { exact: true }).inputValue()).toBe(sent?.body);

  const check = async (pasted: string) => {
    await page.getByLabel("Secret").fill(pasted);
    await page.getByRole("button", { name: "Check the signature" }).click();
  };
  await check(`whsec_${"A".repeat(secret.length - "whsec_".length)}`);
  await page.getByText("The signature does not match").waitFor();
  await check(`"${secret}"`);
  await page.getByText("The secret is enclosed in quotes: without them the signature fits.").waitFor();
  await inspect(page, "delivery-signature");
  await check(secret);
  await page.getByText("It fits").waitFor();
});

it("one confirmation is enough for two actions at once, and goes on where the account could not be read", async () => {
  const { partner, console, page } = await subscribed("Confirms Once");
  const password = "correct horse battery staple";
  await console.account.setPassword({ body: { password } });
  const people = `select person_id from memberships where partner_id = '${partner.id}'`;
  await runStatement(
    world.dataDir,
    `update sessions set confirmed_at = confirmed_at - interval '1 hour' where person_id in (${people})`,
  );
  await page.goto(`/dashboard/partners/${partner.id}/webhook`);
  const rotate = page.getByRole("button", { name: "Rotate the secret" });
  await rotate.waitFor();
  allow(/status of (403|503)/);
  await page.route(/\/account$/, (route) => route.fulfill({ status: 503 }));
  await rotate.evaluate((button: HTMLElement) => {
    for (const each of button.closest("section")?.querySelectorAll("button") ?? []) each.click();
  });
  const dialog = page.getByRole("dialog", { name: "Confirm your identity" });
  await dialog.getByRole("button", { name: "Try again" }).waitFor();
  await page.unroute(/\/account$/);
  await dialog.getByRole("button", { name: "Try again" }).click();
  await dialog.getByLabel("Password").fill(password);
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("New secret created.").waitFor();
  await page.getByRole("group", { name: "The newest secret" }).waitFor();
  await expect.poll(() => page.getByRole("region", { name: "Secret" }).getByRole("listitem").count()).toBe(2);
});
