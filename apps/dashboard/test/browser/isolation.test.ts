import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { pages } from "../../src/pages.ts";
import { openBrowser } from "./browser.harness.ts";
import { callAs, sharedCookie } from "./console-client.ts";
import { createPartner } from "./partners.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

const { world, visitWith, allow } = openBrowser();

let receiver: Receiver;
/** The site of an attacker. It has the same host, so that browsers send the session cookie with its requests. */
let elsewhere: Server;
let attack = "";
beforeAll(async () => {
  receiver = await startReceiver();
  elsewhere = createServer((_, response) => response.writeHead(200, { "content-type": "text/html" }).end(attack));
  await new Promise<void>((resolve) => {
    elsewhere.listen(0, "127.0.0.1", resolve);
  });
});
afterAll(async () => {
  elsewhere.close();
  await receiver.close();
});

/** Creates a partner with a webhook, an admin and a delivery. */
async function partnerWithDelivery(name: string) {
  const partner = await createPartner(world, name);
  const { params } = partner;
  const cookie = await partner.signIn("admin");
  const console = await callAs(cookie, world.url);
  await console.webhook.set({ params, body: { url: receiver.url, events: ["station.offline"] } });
  const { delivery_id: deliveryId } = await console.webhook.test({ params, body: {} });
  return { partner, cookie, console, deliveryId };
}

it("two partners do not see each other's rows, whatever address they open", async () => {
  const both = await Promise.all([partnerWithDelivery("North Line"), partnerWithDelivery("South Line")]);
  for (const [own, other] of [both, both.toReversed()] as const) {
    if (own === undefined || other === undefined) return;
    const { page, open } = await visitWith(own.cookie);
    await open(`/partners/${own.partner.id}/deliveries/${own.deliveryId}`);
    await page.getByText(own.deliveryId).first().waitFor();
    // Opens the other partner's delivery, once under the own partner's address and once under the other's.
    await open(`/partners/${own.partner.id}/deliveries/${other.deliveryId}`);
    await page.getByRole("heading", { name: "Not found", level: 1 }).waitFor();
    await open(`/partners/${other.partner.id}/deliveries/${other.deliveryId}`);
    await page.getByRole("heading", { name: "Page not found" }).waitFor();
    await open(`/partners/${own.partner.id}/deliveries`);
    await page.getByText("1 delivery on this page").waitFor();
    expect(await page.content()).not.toContain(other.deliveryId);
  }
  allow(/404/);
});

it("a viewer finds no button on any page that changes anything", async () => {
  const { partner, deliveryId } = await partnerWithDelivery("Glass Tram");
  const { page, open } = await visitWith(await partner.signIn("viewer"));
  const changes: string[] = [];
  page.on("request", (request) => {
    if (!["GET", "HEAD"].includes(request.method())) changes.push(`${request.method()} ${request.url()}`);
  });
  for (const { path } of pages.filter(({ audience }) => audience === "partner")) {
    await open(path.replace(":partner_id", partner.id).replace(":id", deliveryId));
    await page.locator("main h1").waitFor();
    await expect.poll(() => page.locator("main .loading:visible").count()).toBe(0);
    await page.evaluate(pressEverything);
    expect(changes, path).toEqual([]);
  }
  const rows = await callAs(await sharedCookie(world, "operator viewer"), world.url);
  const { data: acts } = await rows.systemAudit.list({ params: { system_id: world.systemId }, query: {} });
  expect(acts.filter(({ actor }) => actor.includes("viewer"))).toEqual([]);
});

/** Presses each button of the page and of the dialogs that open, and submits each form. Runs in the browser. */
async function pressEverything(): Promise<void> {
  const drawn = () =>
    new Promise((resolve) => {
      requestAnimationFrame(() => requestAnimationFrame(resolve));
    });
  for (const selector of ["main button:enabled", "dialog[open] button:enabled"]) {
    for (const button of document.querySelectorAll<HTMLButtonElement>(selector)) {
      button.click();
      await drawn();
    }
  }
  for (const form of document.forms) form.requestSubmit();
  await drawn();
}

it("a page of another origin can change nothing with the reader's session, and not show the dashboard", async () => {
  const { partner, cookie, console, deliveryId } = await partnerWithDelivery("Copper Kettle");
  const { page } = await visitWith(cookie);
  const answers = answersOf(page);
  const ofPartner = `${world.url}/console/v1/systems/main/partners/${partner.id}`;
  const paths = ["/webhook/test", "/webhook/pause", `/deliveries/${deliveryId}/resend`];
  attack = `<!doctype html><title>Win a bicycle</title>
    <iframe src="${world.url}/dashboard/"></iframe>
    ${paths.map((path) => `<form method="post" enctype="text/plain" action="${ofPartner}${path}"><input name='{"a":"' value='"}'></form>`).join("")}`;
  const origin = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
  for (const [index, path] of paths.entries()) {
    await page.goto(origin);
    // Once with a CORS preflight, which the service does not permit, and once with a form, which needs none.
    await page.evaluate(tryToChange, { url: ofPartner + path, session: `${world.url}/console/v1/session` });
    await page.evaluate((nth) => document.forms[nth]?.submit(), index);
    await page.waitForURL(ofPartner + path);
  }
  expect(new Set(answers.filter(({ isChange }) => isChange).map(({ status }) => status))).toEqual(new Set([403]));
  expect(answers.filter(({ isChange }) => isChange).length).toBeGreaterThanOrEqual(2 * paths.length);
  expect((await console.deliveries.list({ params: partner.params, query: {} })).data.length).toBe(1);
  expect((await console.webhook.show({ params: partner.params })).webhook?.status).toBe("active");
  await expect.poll(() => receiver.received.filter(({ body }) => body.includes(deliveryId)).length).toBe(1);
  allow(/403|404|CORS|ERR_FAILED|frame-ancestors|Framing|X-Frame-Options/);
});

function answersOf(page: Page): { readonly status: number; readonly isChange: boolean }[] {
  const answers: { readonly status: number; readonly isChange: boolean }[] = [];
  page.on("response", (response) => {
    const isChange = ["POST", "DELETE"].includes(response.request().method());
    answers.push({ status: response.status(), isChange });
  });
  return answers;
}

/** Sends the requests that a page of another site can send without leaving that page. Runs in the browser. */
async function tryToChange({ url, session }: { readonly url: string; readonly session: string }): Promise<void> {
  const sent = { method: "POST", credentials: "include", body: "{}" } as const;
  const json = { "content-type": "application/json", "x-csrf-token": "A".repeat(43) };
  await Promise.allSettled([
    fetch(url, { ...sent, mode: "no-cors" }),
    fetch(url, { ...sent, headers: json }),
    fetch(session, { method: "DELETE", credentials: "include" }),
  ]);
}
