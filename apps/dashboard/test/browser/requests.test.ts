import { expect, it } from "vitest";
import { inspect, openBrowser } from "./browser.harness.ts";
import { callAsOperator } from "./console-client.ts";

const { world, visitAs, visitAsNewPerson, allow } = openBrowser();

/** Creates a partner with a key for 20 requests a minute, and uses the key until its requests are refused. */
async function busyPartner(name: string) {
  const operator = await callAsOperator(world);
  const params = { system_id: world.systemId };
  const { id: partnerId } = await operator.partners.create({ params, body: { name, max_reservations: null } });
  const scopes = ["rides:read", "stations:read"] as const;
  const { key } = await operator.systemKeys.issue({
    params,
    body: { partner_id: partnerId, scopes: [...scopes], name: "Timetable", expires_at: null, rate_limit: 20 },
  });
  const refused = { requestId: "", message: "" };
  for (const path of ["stations?limit=1", "rides/ride_unknown", "rides?limit=x", "rides?limit=1"]) {
    for (let n = 0; n < 8; n++) {
      const response = await fetch(`${world.url}/v1/${path}`, { headers: { authorization: `Bearer ${key}` } });
      const { message = "" } = (await response.json()) as { readonly message?: string };
      if (response.status === 400) Object.assign(refused, { requestId: response.headers.get("request-id"), message });
    }
  }
  return { partnerId, ...refused };
}

/** Returns the status with which the API answers a request with this key. */
async function statusWith(key: string): Promise<number> {
  const response = await fetch(`${world.url}/v1/rides?limit=1`, { headers: { authorization: `Bearer ${key}` } });
  await response.arrayBuffer();
  return response.status;
}

it("a partner is led from the overview to what was refused, and learns what was wrong with a request", async () => {
  const { partnerId, requestId, message } = await busyPartner("Journey Planner");
  const { page, open, context } = await visitAsNewPerson(partnerId);
  await open(`/partners/${partnerId}/overview`);
  // The service writes the counts every 5 seconds, and the page reads them every 15 seconds.
  await page.getByText(/came to its limit of 20 requests a minute/).waitFor();
  await page.getByRole("link", { name: "Show these requests" }).first().click();
  await page.waitForURL(/error=rate_limited/);
  await page.getByRole("cell", { name: "rate_limited" }).first().waitFor();
  await page
    .getByRole("button", { name: /^GET \/v1\// })
    .first()
    .click();
  await page.getByText("Path, query and body of requests beyond the limit are not kept").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Clear all" }).click();
  await page.getByRole("searchbox", { name: "Request-Id" }).fill(requestId);
  await page.getByRole("button", { name: "Find" }).click();
  await page.getByRole("group", { name: "Answer body" }).getByText("invalid_parameter").waitFor();
  await page.getByRole("dialog").getByText(message, { exact: true }).waitFor();
  expect(await page.getByRole("group", { name: "Path and query" }).textContent()).toBe("GET /v1/rides?limit=x");
  await inspect(page, "request");
  // As in a frame that may not write into the clipboard.
  await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true }));
  await page.getByRole("button", { name: "Copy: curl command" }).click();
  await page.getByText("Not copied: select the text instead.").waitFor();
  await page.evaluate(() => Reflect.deleteProperty(navigator, "clipboard"));
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy: curl command" }).click();
  await page.getByText("Copied", { exact: true }).waitFor();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
    `curl '${world.url}/v1/rides?limit=x' \\\n  -H "Authorization: Bearer $API_KEY"`,
  );
});

it("an admin rotates a key, sees the new one once, and revokes the old one", async () => {
  const { partnerId } = await busyPartner("Night Bus");
  const { page, open } = await visitAsNewPerson(partnerId);
  await open(`/partners/${partnerId}/keys`);
  await page.getByText("ask it for another key, or to let your admins create some").waitFor();
  await page.getByRole("button", { name: /Timetable/ }).click();
  await page.getByRole("heading", { name: "Requests per minute" }).waitFor();
  await inspect(page, "keys");
  await page.getByRole("button", { name: "Rotate" }).click();
  await page.getByRole("button", { name: "Make the new key" }).click();
  const made = page.getByRole("group", { name: "The new key" });
  await made.waitFor();
  const key = (await made.textContent()) ?? "";
  expect(key).toMatch(/^bss_live_\w{40}$/);
  await inspect(page, "key-made");
  await page.getByRole("button", { name: "I have kept it" }).click();
  await made.waitFor({ state: "detached" });
  expect(await page.content()).not.toContain(key);
  expect(await statusWith(key)).toBe(200);
  await page.getByText("replaced").first().waitFor();
  await page.getByRole("button", { name: "Revoke" }).click();
  await inspect(page, "key-revoke");
  await page.getByRole("button", { name: "Revoke the key" }).click();
  await page.getByText("Timetable is revoked.").waitFor();
});

it("what has failed to load about a key, a route and a request is read again", async () => {
  const { partnerId, requestId } = await busyPartner("Reads Again");
  const operator = await callAsOperator(world);
  const { data } = await operator.systemKeys.list({ params: { system_id: world.systemId } });
  const { id } = data.find((key) => key.partner_id === partnerId) ?? { id: "" };
  const { page, open } = await visitAs("operator admin");
  const failing = /\/usage\/|\/requests\/[^/]+$/;
  const again = page.getByRole("button", { name: "Try again" });
  const readAgain = async (path: string, tab?: string) => {
    await page.route(failing, (route) => route.fulfill({ status: 404 }));
    await open(path);
    if (tab !== undefined) await page.getByRole("tab", { name: tab }).click();
    await again.first().waitFor();
    await page.unroute(failing);
    await again.first().click();
    await expect.poll(() => again.count()).toBe(0);
  };
  await readAgain(`/operator/keys?key=${id}`);
  await readAgain(`/operator/keys?key=${id}`, "30 days");
  await readAgain("/operator/keys?route=GET%20/v1/rides");
  await readAgain(`/operator/requests?request=${requestId}`);
  allow(/404/);
});

it("the operator issues a key that the API accepts, finds who calls a route, and revokes it, upon which it is refused", async () => {
  await busyPartner("Ferry Guide");
  const { page, open } = await visitAsNewPerson(null);
  await open("/operator/overview");
  await page.getByRole("heading", { name: "Requests per minute" }).waitFor();
  await open("/operator/keys");
  await page.getByRole("button", { name: "Issue a key" }).click();
  await page.getByRole("button", { name: "Issue the key" }).click();
  await page.getByText("Choose who the key is for.").waitFor();
  await page.getByLabel("For").selectOption({ label: "Transit App" });
  await page.getByLabel("rides:read").check();
  await page.getByLabel("Name").fill("Ferry pilot");
  await inspect(page, "key-issue");
  await page.getByRole("button", { name: "Issue the key" }).click();
  const key = (await page.getByRole("group", { name: "The new key" }).textContent()) ?? "";
  await page.getByRole("button", { name: "I have kept it" }).click();
  expect(await statusWith(key)).toBe(200);
  await page.getByRole("searchbox", { name: "Method and route" }).fill("GET /v1/rides");
  await page.getByRole("button", { name: "Find callers" }).click();
  await page.getByRole("table", { name: "Callers of GET /v1/rides" }).getByRole("link").first().waitFor();
  await page.getByRole("button", { name: /Ferry pilot/ }).click();
  await page.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("button", { name: "Revoke the key" }).click();
  await page.getByText("Ferry pilot is revoked.").waitFor();
  await expect.poll(() => statusWith(key)).toBe(401);
  await open("/operator/requests");
  await page
    .getByRole("button", { name: /GET \/v1\/rides/ })
    .first()
    .waitFor();
});

it("the operator says what keys a partner's admins may create, and one of them creates one that the API accepts", async () => {
  const { partnerId } = await busyPartner("Cargo Bikes");
  const operator = await visitAsNewPerson(null);
  const itsPage = await operator.open(`/operator/partners/${partnerId}`);
  await itsPage.getByRole("button", { name: "More actions" }).click();
  await itsPage.getByRole("button", { name: "Key allowance" }).click();
  await itsPage.getByLabel("The partner’s admins may create keys").check();
  await itsPage.getByLabel("Requests per minute, all these keys combined").fill("100");
  await itsPage.getByLabel("Days until a key expires, at most").fill("60");
  await inspect(itsPage, "operator-key-allowance");
  await itsPage.getByRole("button", { name: "Save" }).click();
  await itsPage.getByText("0 of 4, 0 of 100 requests per minute").waitFor();
  const { page, open } = await visitAsNewPerson(partnerId);
  await open(`/partners/${partnerId}/keys`);
  await page.getByText("Admins may create 4 more of 4, with 100 of 100 requests per minute.").waitFor();
  await page.getByRole("button", { name: "Create key" }).click();
  expect(await page.getByLabel("Expires").locator("option").allTextContents()).toEqual(["In 30 days", "In 60 days"]);
  expect(await page.getByLabel("reservations:write").count()).toBe(0);
  await page.getByLabel("Name").fill("Second program");
  await page.getByLabel("Requests per minute").fill("101");
  await page.getByRole("button", { name: "Create the key" }).click();
  await page.getByText("Choose at least one scope.").waitFor();
  await page.getByText("Enter a whole number from 1 to 100.").waitFor();
  await inspect(page, "key-create");
  await page.getByLabel("rides:read").check();
  await page.getByLabel("Requests per minute").fill("100");
  await page.getByRole("button", { name: "Create the key" }).click();
  const key = (await page.getByRole("group", { name: "The new key" }).textContent()) ?? "";
  await page.getByRole("button", { name: "I have kept it" }).click();
  expect(await statusWith(key)).toBe(200);
  await page.getByText("Revoke one of these to create another.").waitFor();
  expect(await page.getByRole("button", { name: "Create key" }).isDisabled()).toBe(true);
  await itsPage.getByRole("button", { name: "More actions" }).click();
  await itsPage.getByRole("button", { name: "Key allowance" }).click();
  await itsPage.getByLabel("The partner’s admins may create keys").uncheck();
  await itsPage.getByRole("button", { name: "Save" }).click();
  await itsPage.getByText("none; 1 made before still work").waitFor();
  await operator.open("/operator/keys");
  await itsPage.getByText("exceeds allowance").waitFor();
});

it("a viewer sees keys, and can change none", async () => {
  const { open } = await visitAs("partner viewer");
  const page = await open(`/partners/${world.partnerId}/keys`);
  await page.getByRole("heading", { name: "Keys", exact: true }).waitFor();
  expect(await page.getByRole("button", { name: /Rotate|Revoke|Issue|Create/ }).count()).toBe(0);
});
