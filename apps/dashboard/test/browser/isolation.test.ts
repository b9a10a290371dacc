import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { pages } from "../../src/pages.ts";
import { openBrowser } from "./browser.harness.ts";
import { callAs } from "./console-client.ts";
import { createPartner, type TestPartner } from "./partners.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

const { world, visitWith, allow } = openBrowser();

let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
});
afterAll(() => receiver.close());

/** A partner with a webhook, an admin and one delivery. */
async function partnerWithDelivery(name: string) {
  const partner = await createPartner(world, name);
  const { params } = partner;
  const cookie = await partner.signIn("admin");
  const console = await callAs(cookie, world.url);
  await console.webhook.set({ params, body: { url: receiver.url, events: ["station.offline"] } });
  const { delivery_id } = await console.webhook.test({ params, body: {} });
  return { partner, cookie, console, deliveryId: delivery_id };
}

it("two partners do not see each other's rows, whatever address they open", async () => {
  const both = await Promise.all([partnerWithDelivery("North Line"), partnerWithDelivery("South Line")]);
  const [north, south] = both;
  for (const [own, other] of [
    [north, south],
    [south, north],
  ] as const) {
    const { page, open } = await visitWith(own.cookie);
    await open(`/partners/${own.partner.id}/deliveries/${own.deliveryId}`);
    await page.getByText(own.deliveryId).first().waitFor();
    // The other's delivery among one's own, and the other's pages themselves.
    await open(`/partners/${own.partner.id}/deliveries/${other.deliveryId}`);
    await page.getByRole("heading", { name: "There is nothing here" }).waitFor();
    await open(`/partners/${other.partner.id}/deliveries/${other.deliveryId}`);
    await page.getByRole("heading", { name: "There is no such page" }).waitFor();
    await open(`/partners/${own.partner.id}/deliveries`);
    await page.getByText("1 delivery on this page").waitFor();
    expect(await page.content()).not.toContain(other.deliveryId);
  }
  allow(/404/);
});
