import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { pages } from "../../src/pages.ts";
import { inspect, openBrowser, PHONE } from "./browser.harness.ts";
import { callAsOperator, callAsPartner, type Visited } from "./console-client.ts";
import { closeStations } from "./partners.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

const { world, visit, visitAs, readAs, allow } = openBrowser();
const params = { system_id: world.systemId, partner_id: world.partnerId };

/** For each path with a parameter: the id of an item that the page can show, or the fragment of the address. */
const ids: Record<string, string | undefined> = {};

/** The partner's key, which may read everything that has a page of its own. */
let partnerKey: string;
let receiver: Receiver;
/** Creates data for the pages to show: failing deliveries, a key in use, an open invitation. */
beforeAll(async () => {
  receiver = await startReceiver({ status: 503, headers: { "retry-after": "3600" }, body: '{"error":"overloaded"}' });
  const operator = await callAsOperator(world);
  const scopes = ["stations:read", "bikes:read", "rides:read", "reservations:read", "reservations:write"] as const;
  const { key } = await operator.systemKeys.issue({
    params,
    body: {
      partner_id: world.partnerId,
      scopes: [...scopes],
      name: "Journey planner",
      expires_at: null,
      rate_limit: null,
    },
  });
  partnerKey = key;
  for (const path of ["stations?limit=1", "rides?limit=x", "stations/unknown"]) {
    const response = await fetch(`${world.url}/v1/${path}`, { headers: { authorization: `Bearer ${key}` } });
    await response.arrayBuffer();
  }
  const invitation = { email: "new.colleague@example.com", role: "viewer", partner_id: world.partnerId } as const;
  const { url } = await operator.operatorPeople.invite({ params, body: invitation });
  const admin = await callAsPartner(world);
  await admin.webhook.set({ params, body: { url: receiver.url, events: ["station.offline", "station.online"] } });
  await closeStations(world, "station-41", "station-42", "station-43");
  const failing = { params, query: { status: "failing" } } as const;
  const delivery = await vi.waitUntil(
    async () => {
      const { data } = await admin.deliveries.list(failing);
      return data.length > 3 && data[0];
    },
    { timeout: 60_000 },
  );
  const [imported] = (await operator.imports.list({ params, query: {} })).data;
  const [bike] = (await operator.fleet.bikes({ params, query: {} })).data;
  const reservation = await reserveBike(key, bike?.id);
  const [ride] = (await operator.fleet.rides({ params, query: {} })).data;
  Object.assign(ids, {
    "/invitation": new URL(url ?? "").hash,
    "/partners/:partner_id/deliveries/:id": delivery.id,
    "/operator/bikes/:id": bike?.id,
    "/operator/rides/:id": ride?.id,
    "/partners/:partner_id/stations/:id": "station-41",
    "/operator/stations/:id": "station-41",
    "/operator/imports/:id": imported?.id,
    "/operator/reservations/:id": reservation.id,
  });
});
afterAll(() => receiver.close());

async function reserveBike(key: string, bikeId: string | undefined): Promise<{ readonly id: string }> {
  const response = await fetch(`${world.url}/v1/reservations`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "idempotency-key": "pages" },
    body: JSON.stringify({ bike_id: bikeId }),
  });
  if (!response.ok) throw new Error(`The bike is not reserved: ${await response.text()}`);
  return (await response.json()) as { readonly id: string };
}

/** Who opens the pages of each audience: an admin, who sees every button. */
const visitors: Readonly<Record<string, Visited>> = {
  person: "partner admin",
  partner: "partner admin",
  operator: "operator admin",
};

// Without the page of examples, which is not shipped, and the pages for agencies. Both have their own tests.
const shipped = pages.filter(({ path, isForAgencies }) => path !== "/_components" && isForAgencies !== true);

it.each(shipped)("page $path can be read and used by everybody", async ({ path, audience }) => {
  const visitor = visitors[audience];
  const { page, open } = visitor === undefined ? await visit() : await readAs(visitor);
  await open(addressOf(path));
  await page.locator("main h1").first().waitFor();
  await expect
    .poll(() => page.locator("main :is(.loading, .spinner, [aria-busy=true]):visible").count(), { message: path })
    .toBe(0);
  expect(await page.locator("main [role=alert]").allTextContents(), path).toEqual([]);
  await inspect(page, `page${path.replaceAll(/[/:]+/g, "-")}`);
  allow(/401/);
});

// Without the partner's own reference for the rider, which the operator does not see.
const items = [
  ["stations", []],
  ["bikes", []],
  ["rides", []],
  ["reservations", ["rider_ref"]],
] as const;

it.each(items)("the operator's page of one of the %s prints all that the API gives", async (kind, hidden) => {
  const { page, open } = await visitAs("operator viewer");
  const path = `/operator/${kind}/:id`;
  await open(addressOf(path));
  await page.locator("summary", { hasText: "As the API gives it" }).click();
  const printed = await page.getByRole("group", { name: "As the API gives it", exact: true }).textContent();
  const response = await fetch(`${world.url}/v1/${kind}/${ids[path]}`, {
    headers: { authorization: `Bearer ${partnerKey}` },
  });
  const given = Object.entries((await response.json()) as object).filter(
    ([field]) => !(hidden as readonly string[]).includes(field),
  );
  expect(response.status).toBe(200);
  expect(JSON.parse(printed ?? "")).toEqual(Object.fromEntries(given));
});

const lists = [
  ["partner", "deliveries", ["Status", "Delivery", "Latest result", "Created"]],
  ["partner", "requests", ["Time", "Status", "Request", "Key", "Took"]],
  ["partner", "stations", ["Station", "Availability", "Bikes", "Docks", "Capacity"]],
  ["operator", "bikes", ["Bike", "State", "Station", "Reported"]],
  ["operator", "rides", ["Started", "Status", "Bike", "Duration", "From", "To"]],
  ["operator", "audit", ["Action", "Who", "Time", "Subject"]],
] as const;

it.each(lists)(
  "on a phone the %s's list of %s is cards, which show each column within the window",
  async (who, path, titles) => {
    const { page, open } = await visitAs(`${who} admin`, { viewport: PHONE });
    await open(who === "partner" ? `/partners/${world.partnerId}/${path}` : `/operator/${path}`);
    const card = page.locator("main tbody tr").first();
    for (const title of titles) {
      const cell = card.locator(`td[data-title="${title}"]`);
      await cell.waitFor();
      const { x, width } = (await cell.boundingBox()) ?? { x: 0, width: Number.POSITIVE_INFINITY };
      expect(x + width, title).toBeLessThanOrEqual(PHONE.width);
    }
    // For screen readers, the cards are still a table.
    await card.getByRole("cell").first().waitFor();
  },
);

/** Returns an address at which the page has something to show. */
function addressOf(path: string): string {
  const own = ids[path];
  if (path.includes(":id") && own === undefined) {
    throw new Error(`Nothing is known to look at on ${path}: give it an id in the setup of this test.`);
  }
  const address = path.replace(":partner_id", world.partnerId);
  return own?.startsWith("#") === true ? address + own : address.replace(":id", own ?? "");
}
