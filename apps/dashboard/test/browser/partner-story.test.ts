import { verify } from "@bikeshare/webhooks";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { navigationLink, openBrowser } from "./browser.harness.ts";
import { API_POLL, callAs } from "./console-client.ts";
import { closeStations, createPartner, type TestPartner } from "./partners.ts";
import { addAuthenticator } from "./passkeys.ts";
import { type Received, type Receiver, startReceiver } from "./receiver.ts";
import { runStatement } from "./service.ts";

const { world, visit, allow } = openBrowser();
/** Passkeys belong to a host name. Browsers create none for an IP address. */
const baseURL = world.url.replace("127.0.0.1", "localhost");
/** The response of a receiver that is down. Its `Retry-After` of an hour keeps the service from retrying during the test. */
const DOWN = { status: 503, headers: { "retry-after": "3600" }, body: "The database is being moved" };
const NAME = "Katherine Johnson";

let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
});
afterAll(() => receiver.close());

it("a partner is invited, sets up a webhook, learns why a delivery failed, and resends it and those of last night", async () => {
  const partner = await createPartner(world, "Night Rider");
  const { context, page } = await visit({ baseURL });
  await addAuthenticator(page);
  await signUp(page, await partner.invite("admin"));
  await setWebhook(page);
  await sendTest(page);
  const secret = await rotateSecret(page);
  const { headers, body } = await sendTest(page);
  expect(await verify(body, headers["service-signature"], secret)).toMatchObject({ event: "station.offline" });

  receiver.answer = DOWN;
  await closeStations(world, "station-50", "station-51", "station-52");
  const console = await callAs(await sessionOf(context), world.url);
  const failing = { params: partner.params, query: { status: "failing" } } as const;
  await expect.poll(async () => (await console.deliveries.list(failing)).data.length, API_POLL).toBe(6);
  await resendOne(page);
  await resendNight(page, partner, console);
  // Expected messages: 401 before the sign-in, and 403 when a confirmation is needed.
  allow(/status of (401|403)/);
});

/** Returns a time zone in which it is about two at night now. */
function zoneOfNight(): string {
  const hoursAhead = 2 - new Date().getUTCHours();
  const offset = hoursAhead < -12 ? hoursAhead + 24 : hoursAhead;
  // In `Etc/GMT` names the sign is reversed: `Etc/GMT+5` is behind UTC.
  return `Etc/GMT${offset <= 0 ? "+" : "-"}${Math.abs(offset)}`;
}

async function sessionOf(context: BrowserContext): Promise<string> {
  return (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join("; ");
}

/** Accepts the invitation, adds a passkey, signs out, and signs in with the passkey. */
async function signUp(page: Page, link: string): Promise<void> {
  await page.goto(`/dashboard/invitation${new URL(link).hash}`);
  await page.getByLabel("Your name").fill(NAME);
  await page.getByRole("button", { name: "Accept" }).click();
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByRole("button", { name: "Continue in the browser" }).click();
  await page.getByText("Passkey added").waitFor();
  await page.getByRole("button", { name: `Account of ${NAME}` }).click();
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await navigationLink(page, "Overview").click();
}

async function setWebhook(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Set an address" }).click();
  await page.getByRole("textbox", { name: "Address" }).fill(receiver.url);
  await page.getByRole("button", { name: "Try this address" }).click();
  await page.getByText("Deliveries would succeed").waitFor();
  await page.getByLabel("station.offline", { exact: true }).check();
  await page.getByLabel("station.online", { exact: true }).check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("The webhook is saved.").waitFor();
}

/** Sends a test delivery, and compares what the page shows with what the receiver got. @returns the received request */
async function sendTest(page: Page): Promise<Received> {
  const section = page.getByRole("region", { name: "Test" });
  const before = receiver.received.length;
  await section.getByLabel("Event").selectOption("station.offline");
  await section.getByRole("button", { name: "Send a test" }).click();
  await expect.poll(() => receiver.received.length).toBe(before + 1);
  const arrived = receiver.received[before] as Received;
  const { delivery_id: id } = JSON.parse(arrived.body) as { readonly delivery_id: string };
  await section.getByRole("tablist", { name: "Request body" }).getByRole("tab", { name: "Raw" }).click();
  const shown = section.getByRole("group", { name: "Request body" }).filter({ hasText: id });
  expect(await shown.textContent()).toBe(arrived.body);
  await section.getByText(String(arrived.headers["service-signature"])).waitFor();
  return arrived;
}

/** Rotates the secret an hour after signing in, when a confirmation with the passkey is needed. @returns the new secret */
async function rotateSecret(page: Page): Promise<string> {
  const person = `select id from people where name = '${NAME}'`;
  await runStatement(
    world.dataDir,
    `update sessions set confirmed_at = confirmed_at - interval '1 hour' where person_id = (${person})`,
  );
  await page.getByRole("button", { name: "Rotate the secret" }).click();
  await page
    .getByRole("dialog", { name: "Confirm your identity" })
    .getByRole("button", { name: "Use a passkey" })
    .click();
  const secret = page.getByRole("group", { name: "The newest secret" });
  await secret.waitFor();
  return (await secret.textContent()) ?? "";
}

/** In three clicks: from the overview to a failed delivery and its reason, and to its success. */
async function resendOne(page: Page): Promise<void> {
  await navigationLink(page, "Overview").click();
  await page.getByText("has answered no delivery with success lately").waitFor();
  await page.evaluate(() => {
    document.documentElement.dataset["clicks"] = "0";
    addEventListener(
      "click",
      () => {
        const { dataset } = document.documentElement;
        dataset["clicks"] = String(Number(dataset["clicks"]) + 1);
      },
      { capture: true },
    );
  });
  await page.getByRole("link", { name: "Show these deliveries" }).click();
  await page
    .getByRole("link", { name: /station.online/ })
    .first()
    .click();
  await page.getByText("Your server failed while it handled the request.").waitFor();
  // No time is shown in RFC 3339, not even within sentences.
  expect(await page.locator("main header").textContent()).not.toMatch(/\dT\d/);
  await page.getByRole("group", { name: "Response body" }).getByText(DOWN.body).waitFor();
  receiver.answer = { status: 200 };
  await page.getByRole("button", { name: "Resend" }).click();
  await page.getByRole("heading", { level: 1 }).getByText("arrived").waitFor();
  expect(await page.evaluate(() => document.documentElement.dataset["clicks"])).toBe("3");
}

/** Resends all deliveries that failed in the present night, except the one that has succeeded since. */
async function resendNight(
  page: Page,
  { params }: TestPartner,
  console: Awaited<ReturnType<typeof callAs>>,
): Promise<void> {
  // The pages show times in the city's zone, in which it may be day now. The session is read before, because a route that
  // fails leaves the page waiting without a word.
  const session = await console.session.get();
  const time_zone = zoneOfNight();
  const memberships = session.memberships.map((membership) => ({ ...membership, time_zone }));
  await page.route("**/console/v1/session", (route) => route.fulfill({ json: { ...session, memberships } }));
  await page.reload();
  await navigationLink(page, "Deliveries").click();
  await page.getByRole("button", { name: "Failed last night" }).click();
  await page.getByText("5 deliveries on this page").waitFor();
  await page.getByRole("button", { name: "Resend all that match …" }).click();
  const dialog = page.getByRole("dialog", { name: "Resend deliveries" });
  await dialog.getByRole("button", { name: "Resend 5 deliveries" }).waitFor();

  const [other] = (await console.deliveries.list({ params, query: { status: "failing" } })).data;
  const one = { params: { ...params, delivery_id: other?.id ?? "" } };
  await console.deliveries.resend({ ...one, body: {} });
  await expect.poll(async () => (await console.deliveries.get(one)).status, API_POLL).toBe("succeeded");

  const before = receiver.received.length;
  await dialog.getByRole("button", { name: "Resend 5 deliveries" }).click();
  await dialog.getByText(/^4 of 5 deliveries queued, 1 left out: succeeded since/).waitFor();
  await expect.poll(() => receiver.received.length).toBe(before + 4);
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await page.getByRole("heading", { name: "No delivery matches" }).waitFor();
}
