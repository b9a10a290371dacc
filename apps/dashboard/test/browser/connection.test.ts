import { findFreePort } from "@bikeshare/test-kit";
import { it } from "vitest";
import { navigationLink, openBrowser } from "./browser.harness.ts";
import { callAs, callAsOperator } from "./console-client.ts";
import { createPartner } from "./partners.ts";
import { startService } from "./service.ts";
import { signInByPassword } from "./world.ts";

const { world, visit, visitAs, visitWith, allow } = openBrowser();

it("a page says that the server is gone, and shows what has happened meanwhile once it is back", async () => {
  // Starts another process of the same service, because the shared process must keep running.
  const again = { dataDir: world.dataDir, port: String(await findFreePort()) };
  const first = await startService(again);
  const { page } = await visitAs("operator viewer");
  await page.goto(`${first.url}/dashboard/operator/partners`);
  await page.getByRole("link", { name: "Transit App" }).waitFor();
  await first.stop();
  await navigationLink(page, "Rides").click();
  // The page sends a request only once a minute. The click on "Rides" sends one at once.
  await page.getByText("Connection lost").waitFor({ timeout: 50_000 });
  const operator = await callAsOperator(world);
  const body = { name: "Meanwhile Maps", max_reservations: null };
  await operator.partners.create({ params: { system_id: world.systemId }, body });
  await navigationLink(page, "Partners").click();
  await page.getByRole("link", { name: "Transit App" }).waitFor();

  const second = await startService(again);
  await page.getByText("Connection lost").waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Meanwhile Maps" }).waitFor();
  await second.stop();
  allow(/ERR_CONNECTION|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE/);
});

it("what has failed without a connection says so until it is tried again", async () => {
  const partner = await createPartner(world, "Offline Maps");
  const { page, context, open } = await visitAs("operator admin");
  await open(`/operator/partners/${partner.id}`);
  await page.getByRole("button", { name: "Change", exact: true }).click();
  await page.getByLabel("Name", { exact: true }).fill("Online Maps");
  const failure = page.getByText("The server could not be reached.");
  await context.setOffline(true);
  await page.getByRole("button", { name: "Save" }).click();
  await failure.waitFor();
  await context.setOffline(false);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Online Maps" }).waitFor();
  await failure.waitFor({ state: "detached" });
  allow(/ERR_INTERNET_DISCONNECTED/);
});

it("pages that have failed to read the ways to sign in say so, and read them again", async () => {
  const failing = /\/console\/v1\/sign-in$/;
  const [signedIn, signedOut] = [await visitAs("partner viewer"), await visit()];
  for (const [{ page, open }, path] of [
    [signedIn, "/account"],
    [signedOut, "/sign-in"],
  ] as const) {
    await page.route(failing, (route) => route.fulfill({ status: 404 }));
    await open(path);
    const again = page.getByRole("button", { name: "Try again" });
    await again.waitFor();
    await page.unroute(failing);
    await again.click();
    await again.waitFor({ state: "detached" });
  }
  await signedIn.page.getByRole("heading", { name: "Account", level: 1 }).waitFor();
  await signedOut.page.getByRole("button", { name: "Sign in with a password" }).waitFor();
  allow(/status of (401|404)/);
});

it("whoever is signed out from elsewhere signs in again, and is back at the page with its filters", async () => {
  const partner = await createPartner(world, "Second Home");
  const cookie = await partner.signIn("admin");
  const here = await callAs(cookie, world.url);
  const password = "correct horse battery staple";
  await here.account.setPassword({ body: { password } });
  const { email } = (await here.session.get()).person;
  const { page, open } = await visitWith(cookie);
  // Without a webhook, the page of deliveries says what to do.
  await open(`/partners/${partner.id}/deliveries`);
  await page.getByRole("heading", { name: "No webhook yet" }).waitFor();
  await open(`/partners/${partner.id}/requests?error=rate_limited`);
  await page.getByRole("heading", { name: "Requests", level: 1 }).waitFor();

  const there = await callAs(await signInByPassword(world.url, email, password), world.url);
  await there.account.endOtherSessions();
  // The page notices that its session has ended, because it reads new requests every two seconds.
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in with a password" }).click();
  await page.waitForURL(`**/dashboard/partners/${partner.id}/requests?error=rate_limited`);
  await page.getByRole("heading", { name: "Requests", level: 1 }).waitFor();
  allow(/status of (401|404)/);
});
