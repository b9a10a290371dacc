import { afterAll, beforeAll, expect, it } from "vitest";
import { inspect, navigationLink, openBrowser } from "./browser.harness.ts";
import { callAs } from "./console-client.ts";
import { createPartner } from "./partners.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import { runStatement } from "./service.ts";

const { world, visitAs, visitWith, allow } = openBrowser();

let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
});
afterAll(() => receiver.close());

/** Creates a partner with a sandbox and a webhook for stations, and opens the sandbox's page as one of their people. */
async function playing(name: string, role: "admin" | "viewer" = "admin") {
  const partner = await createPartner(world, name);
  const cookie = await partner.signIn("admin");
  const { system_id } = await (
    await callAs(cookie, world.url)
  ).partnerSandbox.create({ params: partner.params, body: {} });
  const params = { ...partner.params, system_id };
  const console = await callAs(cookie, world.url);
  // A webhook gets only events that some key of the partner may read.
  const expires_at = new Date(Date.now() + 86_400_000).toISOString();
  const key = { name: "Test", scopes: ["stations:read"] as ["stations:read"], expires_at, rate_limit: 60 };
  await console.partnerKeys.create({ params, body: key });
  const visitor = await visitWith(role === "admin" ? cookie : await partner.signIn(role));
  const path = `/partners/${partner.id}/sandbox?system=${system_id}`;
  return { params, console, path, systemId: system_id, ...visitor };
}

it("a partner's admin creates a sandbox, plays a scenario in it, and sees on every page that it is one", async () => {
  const { open } = await visitAs("partner admin");
  const page = await open(`/partners/${world.partnerId}/sandbox`);
  expect(await page.getByText("Test data. Live data is not affected.").count()).toBe(0);
  await page.getByRole("button", { name: "Create sandbox" }).waitFor();
  await inspect(page, "sandbox-none");
  await page.getByRole("button", { name: "Create sandbox" }).click();
  await page.getByText("Test data. Live data is not affected.").waitFor();
  await page.getByText("40 stations and 300 bikes of seed 1").waitFor();
  await page.getByRole("button", { name: "Ride corrected" }).click();
  await page.getByText(/is corrected: it ended at station/).waitFor();
  await page.getByRole("listitem").filter({ hasText: "ride.corrected" }).first().waitFor();
  await inspect(page, "sandbox");
  await navigationLink(page, "Webhook").click();
  await page.getByRole("heading", { name: "Webhook", level: 1 }).waitFor();
  await page.getByText("Test data. Live data is not affected.").waitFor();
  // A sandbox has its partner's people, who are managed at the partner's own page.
  expect(await navigationLink(page, "People").count()).toBe(0);
  await page.getByRole("link", { name: "Switch to live" }).click();
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  await navigationLink(page, "People").waitFor();
  expect(await page.getByText("Test data. Live data is not affected.").count()).toBe(0);
});

it("an event is caused at a station by the keyboard, and the feed follows its delivery until it arrives", async () => {
  const { params, console, page, path, open } = await playing("Causes Events");
  await console.webhook.set({ params, body: { url: receiver.url, events: ["station.offline"] } });
  receiver.answer = { status: 503 };
  await open(path);
  await page.getByRole("tab", { name: "Scenarios" }).focus();
  await page.keyboard.press("ArrowRight");
  await page.getByLabel("Event", { exact: true }).selectOption("station.offline");
  const station = page.getByLabel("Station", { exact: true });
  await station.locator("option").nth(1).waitFor({ state: "attached" });
  await station.selectOption({ index: 1 });
  await page.getByRole("button", { name: "Cause it" }).focus();
  await page.keyboard.press("Enter");
  await page
    .getByRole("status")
    .getByText(/goes offline/)
    .waitFor();
  const told = page.getByRole("listitem").filter({ has: page.getByText("station.offline", { exact: true }) });
  await told.first().getByText("failing").waitFor();
  await inspect(page, "sandbox-event");
  receiver.answer = { status: 204 };
  await page.getByRole("tab", { name: "Clock" }).click();
  await page.getByRole("button", { name: "Let time pass" }).click();
  await page.getByText("10 min were added since the city was made.").waitFor();
  await told.first().getByText("arrived").waitFor();
  await page.getByText("Everything that fell due is done.").waitFor();
  await inspect(page, "sandbox-clock");
  await told.first().getByRole("link").click();
  await page.getByRole("heading", { name: /station.offline/, level: 1 }).waitFor();
});

it("faults of the API and of deliveries are set, stand above everything while they last, and are ended", async () => {
  const { params, console, page, path, open } = await playing("Suffers Faults");
  const now = async () => console.partnerSandbox.activity({ params });
  await open(path);
  await page.getByRole("tab", { name: "API faults" }).click();
  await inspect(page, "sandbox-api-faults");
  await page.getByLabel("Share of requests in %").fill("25");
  await page.getByLabel("Endpoint").fill("GET /v1/rides");
  await page.getByRole("button", { name: "Make the API fail" }).click();
  await page.getByText("GET /v1/rides: status 503 for 25 % of requests").waitFor();
  expect((await now()).faults).toMatchObject([{ route: "GET /v1/rides", status: 503, share: 0.25, count: null }]);
  // If the service rejects the fault, the page shows why, and the form stays open.
  allow(/400/);
  await page.getByLabel("Endpoint").fill("/nonsense");
  await page.getByRole("button", { name: "Make the API fail" }).click();
  await page.getByText(/route .*must be a method and a path, such as GET/).waitFor();
  expect(await page.getByLabel("Endpoint").inputValue()).toBe("/nonsense");

  await page.getByRole("tab", { name: "Delivery faults" }).click();
  await page.getByLabel("Each attempt is sent twice").check();
  await page.getByLabel("Delay of each attempt").selectOption("5 s");
  await page.getByRole("button", { name: "Make deliveries fail" }).click();
  await page.getByText("5 s late, sent twice, ends").waitFor();
  await inspect(page, "sandbox-faults");
  await page.getByRole("button", { name: "End API faults" }).click();
  await page.getByRole("button", { name: "End delivery faults" }).click();
  await expect.poll(now).toMatchObject({ faults: [], webhook_faults: null });
  await page.getByText("on purpose").waitFor({ state: "hidden" });
});

it("`key-expires` shows its key once, to who has just confirmed who they are", async () => {
  const { page, path, open } = await playing("Keys Expire");
  await open(path);
  await page.getByRole("button", { name: "Key expires" }).click();
  const key = page.getByRole("group", { name: "The key, which is shown once" });
  expect(await key.textContent()).toMatch(/^bss_test_\w+$/);
  await page.reload();
  await page.getByRole("button", { name: "Key expires" }).waitFor();
  expect(await key.count()).toBe(0);
});

it("a sandbox that is full, and one that wakes up, say so and offer what helps", async () => {
  const { page, path, open, systemId } = await playing("Is Full");
  const addRides = (n: number) =>
    runStatement(
      world.dataDir,
      `insert into list_counts (system_id, list, slot, n) values ('${systemId}', 'rides', 0, ${n})
       on conflict (system_id, list, slot) do update set n = list_counts.n + excluded.n`,
    );
  await addRides(20_000);
  await open(path);
  await page.getByText("The sandbox is full").waitFor();
  expect(await page.getByRole("button", { name: "Rush hour" }).isDisabled()).toBe(true);
  await inspect(page, "sandbox-full");
  await page.getByRole("button", { name: "Reset city" }).click();
  await page.getByText("The city is as it was made").waitFor();
  await addRides(-20_000);
  await page.getByText("The sandbox is full").waitFor({ state: "detached" });
  expect(await page.getByRole("button", { name: "Rush hour" }).isEnabled()).toBe(true);

  const empty = "update sandboxes set has_city = false, rides_at =";
  await runStatement(world.dataDir, `${empty} now() + interval '1 hour' where system_id = '${systemId}'`);
  await page.getByText("The city wakes up").waitFor();
  await inspect(page, "sandbox-waking");
  await runStatement(world.dataDir, `${empty} now() where system_id = '${systemId}'`);
  await page.getByText("The city wakes up").waitFor({ state: "detached" });
});

it("the page asks for nothing while its tab is hidden or somebody has paused it", async () => {
  const { page, path, open } = await playing("Looks Away");
  let looks = 0;
  page.on("request", (request) => {
    if (request.url().includes("/sandbox/activity")) looks += 1;
  });
  await page.clock.install();
  await open(path);
  await page.getByRole("heading", { name: "What happens" }).waitFor();
  const looksIn = async (seconds: number) => {
    const before = looks;
    for (let second = 0; second < seconds; second++) await page.clock.runFor(1_000);
    return looks - before;
  };
  const show = (state: "hidden" | "visible") =>
    page.evaluate((value) => {
      Object.defineProperty(document, "visibilityState", { configurable: true, get: () => value });
      document.dispatchEvent(new Event("visibilitychange"));
      window.dispatchEvent(new Event("visibilitychange"));
    }, state);
  await expect.poll(() => looksIn(3)).toBeGreaterThan(0);
  await show("hidden");
  await looksIn(3);
  expect(await looksIn(20)).toBe(0);
  await show("visible");
  await expect.poll(() => looksIn(3)).toBeGreaterThan(0);
  await page.getByRole("button", { name: "Live" }).click();
  await looksIn(3);
  expect(await looksIn(20)).toBe(0);
});

it("a viewer follows what happens, and is offered nothing that only admins may do", async () => {
  const { params, console, page, path, open } = await playing("Only Looks", "viewer");
  await console.partnerSandbox.trigger({ params: { ...params, name: "ride.completed" }, body: {} });
  await open(path);
  await page.getByText("ride.completed", { exact: true }).first().waitFor();
  expect(await page.getByRole("button", { name: /Rush hour|Reset city|Cause it|End/ }).count()).toBe(0);
  await inspect(page, "sandbox-viewer");
});
