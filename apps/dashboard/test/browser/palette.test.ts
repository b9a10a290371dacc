import { expect, it } from "vitest";
import { inspect, openBrowser } from "./browser.harness.ts";
import { createPartner } from "./partners.ts";

const { world, visitAs, visitWith } = openBrowser();
const BOX = "Search pages, names and ids";

it("the palette leads to a page and to an id, by the keyboard alone", async () => {
  const { open } = await visitAs("partner viewer");
  const page = await open("/account");
  await page.getByRole("button", { name: "Account of Partner viewer" }).waitFor();
  await page.keyboard.press("Control+k");
  const box = page.getByRole("combobox", { name: BOX });
  await box.waitFor();
  await inspect(page, "palette");
  // The palette also stays visible in a narrow window, which hides the navigation.
  await page.setViewportSize({ width: 360, height: 740 });
  expect(await box.isVisible()).toBe(true);
  await page.keyboard.type("stations");
  await page
    .getByRole("option", { name: /Stations/ })
    .first()
    .waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await box.fill("station-7");
  // Enter is pressed before the service has answered.
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/dashboard/partners/${world.partnerId}/stations?q=station-7`);
  await page.getByText("1 of 60 stations").waitFor();
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

it("what was opened by the palette is offered again, and Escape closes it", async () => {
  const { open } = await visitAs("operator viewer");
  const page = await open("/operator/stations");
  await page.getByText("60 stations, page 1 of 2").waitFor();
  await page.getByRole("button", { name: /Go to/ }).click();
  await page.getByRole("combobox", { name: BOX }).fill("station-9");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/dashboard/operator/stations/station-9");
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: /^Station .* Opened before$/ }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

it("the palette leads the operator to a partner, and says above its pages whose they are", async () => {
  const { open } = await visitAs("operator viewer");
  const page = await open("/account");
  await page.getByRole("button", { name: /Go to/ }).click();
  await page.getByRole("combobox", { name: BOX }).fill(world.partnerId);
  await page.getByRole("option", { name: `Partner Transit App ${world.partnerId}` }).click();
  await page.getByRole("heading", { name: "Transit App", level: 1 }).waitFor();
  await page.getByRole("link", { name: "See the partner’s pages" }).click();
  await page.getByText("You are viewing a partner’s pages").waitFor();
  await page.getByRole("navigation", { name: "The partner’s pages" }).getByRole("link", { name: "Keys" }).click();
  await page.getByRole("heading", { name: "Keys", level: 1 }).waitFor();
  await page.getByRole("link", { name: "Back to the operator’s pages" }).click();
  await page.getByRole("heading", { name: "Transit App", level: 1 }).waitFor();
});

it("a key that is pasted is not sent to the service, where its URL would mark it as compromised", async () => {
  const { open } = await visitAs("partner viewer");
  const page = await open("/account");
  const searched: string[] = [];
  page.on("request", (request) => {
    if (new URL(request.url()).pathname.endsWith("/search")) searched.push(request.url());
  });
  await page.getByRole("button", { name: /Go to/ }).click();
  const box = page.getByRole("combobox", { name: BOX });
  for (const text of [world.operatorKey, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]) {
    await box.fill(text);
    await page.getByText("Keys and secrets are not searched for: paste none here.").waitFor();
    await page
      .getByRole("option", { name: /^Keys Lists keys by their last four characters( · Transit App)?$/ })
      .waitFor();
  }
  // A search for the next text proves that no search for the key is still to come.
  await box.fill("station-7");
  await page.getByRole("option", { name: /^Station / }).waitFor();
  // A partner with a sandbox is searched in both.
  expect(new Set(searched.map((url) => new URL(url).searchParams.get("q")))).toEqual(new Set(["station-7"]));
});

it("what no page knows is said to be nowhere", async () => {
  const { open } = await visitAs("partner viewer");
  const page = await open("/account");
  await page.getByRole("button", { name: /Go to/ }).click();
  await page.getByRole("combobox", { name: BOX }).fill("no such page");
  await page.getByText("No page, name or id matches.").waitFor();
});

it("the palette takes every key from the first, however fast they come, and Enter waits for what is found", async () => {
  const { open } = await visitAs("operator viewer");
  const page = await open("/operator/stations");
  await page.getByText("60 stations, page 1 of 2").waitFor();
  // The first time, the palette's module is loading while the test types. The second time it is already loaded.
  for (const id of ["station-42", "bike-7"]) {
    await page.keyboard.press("Control+k");
    await page.keyboard.type(id, { delay: 10 });
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/dashboard/operator/${id.replace(/-.*/, "s")}/${id}`);
  }
});

it("what has an id is offered, and no kind of thing that has none like it; names lead to what is called so", async () => {
  const { open } = await visitAs("operator viewer");
  const page = await open("/account");
  await page.getByRole("button", { name: /Go to/ }).click();
  const box = page.getByRole("combobox", { name: BOX });
  await box.fill("transit");
  await page.getByRole("option", { name: /^Partner Transit App/ }).waitFor();
  await box.fill("station-4");
  await page.getByRole("option", { name: /station-4 ·/ }).waitFor();
  expect(await page.getByRole("option").count()).toBe(1);
  await box.fill("nothing-like-this");
  await page.getByText("No page, name or id matches.").waitFor();
});

it("a partner finds stations by name and deliveries that failed, and no other partner", async () => {
  // A separate partner, because other test files give the shared partner a webhook.
  const partner = await createPartner(world, "Finds By Name");
  const { page, open } = await visitWith(await partner.signIn("viewer"));
  await open(`/partners/${partner.id}/stations`);
  await page.getByText("60 stations, page 1 of 2").waitFor();
  await page.keyboard.press("Control+k");
  const box = page.getByRole("combobox", { name: BOX });
  const results = page.getByRole("listbox", { name: "Results" });
  await box.fill("failing");
  await results.getByRole("option", { name: /^Failed deliveries/ }).waitFor();
  expect(await results.getByRole("option").count()).toBe(1);
  await box.fill("station-7");
  await results.getByRole("option", { name: /^Station .* station-7 · Finds By Name$/ }).waitFor();
  await box.fill("bike-7");
  await page.getByText("No page, name or id matches.").waitFor();
  await box.fill("failing");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/deliveries?status=unsuccessful");
  // The partner has no webhook. The page says so, and requests no deliveries.
  await page.getByText("No webhook yet").waitFor();
});
