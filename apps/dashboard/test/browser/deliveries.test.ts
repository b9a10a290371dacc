import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { openBrowser } from "./browser.harness.ts";
import { callAs } from "./console-client.ts";
import { closeStations, createPartner } from "./partners.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

const { world, visitWith, allow } = openBrowser();

let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver({ status: 401, headers: { "retry-after": "3600" }, body: "no signature matches" });
});
afterAll(() => receiver.close());

it("a partner sees when deliveries failed and why, and resends those of a part of the chart", async () => {
  const partner = await createPartner(world, "Failing Maps");
  const cookie = await partner.signIn("admin");
  const api = await callAs(cookie, world.url);
  const params = { system_id: world.systemId, partner_id: partner.id };
  await api.webhook.set({ params, body: { url: receiver.url, events: ["station.offline", "station.online"] } });
  await closeStations(world, "station-38", "station-39");
  await vi.waitUntil(
    async () => (await api.deliveries.list({ params, query: { status: "failing" } })).data.length >= 4,
    {
      timeout: 60_000,
    },
  );
  const { page, open } = await visitWith(cookie);
  await open(`/partners/${partner.id}/deliveries`);
  await page.getByRole("heading", { name: "4 of 4 deliveries failing or given up" }).waitFor();
  await page.getByText("Your server says: “no signature matches”").waitFor();
  await page.getByRole("button", { name: /HTTP 401/ }).click();
  await page.waitForURL(/code=401/);

  // With the keyboard: selects from the last steps to the end of the day, and then moves back to a step with deliveries.
  const chart = page.getByRole("slider");
  await chart.focus();
  await chart.press("Home");
  await chart.press("Shift+End");
  await chart.press("Enter");
  await page.waitForURL(/since=.*until=/);
  await page.getByRole("button", { name: "Resend all that match …" }).click();
  await page.getByRole("button", { name: "Resend 4 deliveries" }).waitFor();
  expect(new URL(page.url()).searchParams.get("code")).toBe("401");

  // A range that is too long shows an error, and the reader can choose another.
  allow(/400/);
  await open(`/partners/${partner.id}/deliveries?since=2001-01-01T00:00:00.000Z&until=2026-01-01T00:00:00.000Z`);
  await page.getByRole("button", { name: "Try again" }).waitFor();
  await page.getByRole("button", { name: "Day", exact: true }).click();
  await page.getByRole("heading", { name: "4 of 4 deliveries failing or given up" }).waitFor();
});
