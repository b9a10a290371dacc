import { verify } from "@bikeshare/webhooks";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { inspect, navigationLink, openBrowser } from "./browser.harness.ts";
import { createPartner } from "./partners.ts";
import { type Received, type Receiver, startReceiver } from "./receiver.ts";

const { world, visitWith } = openBrowser();

let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
});
afterAll(() => receiver.close());

it("an admin who knows the dashboard's address alone is alarmed in a sandbox when a station has had no bike for ten minutes", async () => {
  const partner = await createPartner(world, "Knows Nobody");
  const { open } = await visitWith(await partner.signIn("admin"));
  const page = await open("/");
  await navigationLink(page, "Sandbox").click();
  await page.getByRole("button", { name: "Create sandbox" }).click();
  await page.getByText("40 stations and 300 bikes").waitFor();
  await makeKey(page);
  const station = await setAlarm(page);
  const secret = await showSecret(page);
  await causeAlarm(page, station);
  // Other deliveries may arrive too, because bikes return to the station in the meantime.
  const alarm = () => receiver.received.find(({ body }) => body.includes("station.below_threshold"));
  await expect.poll(alarm).toBeDefined();
  const { headers, body }: Received = alarm() ?? { headers: {}, body: "" };
  expect(await verify(body, String(headers["service-signature"]), secret)).toMatchObject({
    event: "station.below_threshold",
    data: { name: station, threshold: { count: "bikes", fewer_than: 1, for_minutes: 10 } },
  });
  const told = page.getByRole("listitem").filter({ hasText: "station.below_threshold" }).first();
  await told.getByText("arrived").waitFor();
  await inspect(page, "sandbox-alarm");
  await told.getByRole("link", { name: /^Delivery to Main/ }).click();
  await page.getByRole("heading", { name: /station.below_threshold/, level: 1 }).waitFor();
});

/** Makes a key. A webhook gets only events that some key of the partner may read. */
async function makeKey(page: Page): Promise<void> {
  await navigationLink(page, "Keys").click();
  await page.getByRole("button", { name: "Create key" }).click();
  const dialog = page.getByRole("dialog", { name: "Create a key" });
  await dialog.getByLabel("stations:read", { exact: true }).check();
  await dialog.getByRole("button", { name: "Create the key" }).click();
  const made = page.getByRole("dialog", { name: "The new key" });
  expect(await made.getByRole("group", { name: "The new key" }).textContent()).toMatch(/^bss_test_/);
  await made.getByRole("button", { name: "I have kept it" }).click();
}

/** Sets the webhook's address and a threshold for the first station. @returns the name of the station */
async function setAlarm(page: Page): Promise<string> {
  await navigationLink(page, "Webhook").click();
  await page.getByRole("textbox", { name: "Address" }).fill(receiver.url);
  await page.getByRole("button", { name: "Add an alarm" }).click();
  const alarm = page.getByRole("group", { name: "Alarm 1" });
  expect(await alarm.getByLabel("Fewer than").inputValue()).toBe("1");
  expect(await alarm.getByLabel("For minutes").inputValue()).toBe("10");
  const option = alarm.locator("datalist option[label^=station]").first();
  await option.waitFor({ state: "attached" });
  const name = (await option.getAttribute("value")) ?? "";
  await alarm.getByLabel("At", { exact: true }).fill(name);
  await alarm.getByRole("button", { name: `Remove ${name}` }).waitFor();
  expect(await page.getByRole("checkbox", { name: "station.below_threshold" }).isChecked()).toBe(true);
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByText(/^In the last 24 hours this would have sent \d+ deliver/).waitFor();
  await inspect(page, "webhook-alarm");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("The webhook is saved.").waitFor();
  return name;
}

async function showSecret(page: Page): Promise<string> {
  await page.getByRole("button", { name: "Show the secret" }).click();
  const secret = page.getByRole("group", { name: "The newest secret" });
  await secret.waitFor();
  return (await secret.textContent()) ?? "";
}

async function causeAlarm(page: Page, station: string): Promise<void> {
  await navigationLink(page, "Sandbox").click();
  await page.getByRole("tab", { name: "One event" }).click();
  await page.getByLabel("Event", { exact: true }).selectOption("station.below_threshold");
  await page.getByLabel("Station", { exact: true }).selectOption({ label: station });
  await page.getByRole("button", { name: "Cause it" }).click();
  await page.getByRole("status").getByText("10 minutes pass").waitFor();
}
