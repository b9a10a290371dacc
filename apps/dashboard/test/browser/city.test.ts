import type { ConsoleSummary } from "@bikeshare/contract/console";
import { expect, it } from "vitest";
import { openBrowser, PHONE } from "./browser.harness.ts";
import { callAsOperator } from "./console-client.ts";
import { closeStations } from "./partners.ts";

const { world, visitAs } = openBrowser();
const params = { system_id: world.systemId };

it("an operator sees which stations are empty and since when, opens one beside the map, and goes back", async () => {
  const operator = await callAsOperator(world);
  const { stations } = await operator.systemSums.glance({ params });
  const { page, open } = await visitAs("operator viewer");
  await open("/operator/overview");
  const tile = page.getByRole("list", { name: "The city now" }).getByRole("link", { name: /Stations empty/ });
  await expect.poll(() => tile.textContent()).toContain(String(stations.empty.count));
  const troubled = page.getByRole("region", { name: "Empty and full stations" });
  await troubled
    .getByText(/^No bikes for /)
    .first()
    .waitFor();
  const first = troubled.getByRole("listitem").filter({ hasText: "No bikes" }).first().getByRole("button");
  const name = (await first.textContent()) ?? "";
  await first.click();
  await page.waitForURL(/station=station-/);
  const panel = page.getByRole("complementary", { name: "Station", exact: true });
  await panel.getByRole("heading", { name }).waitFor();
  await panel.getByText(/No bikes for /).waitFor();
  await page.goBack();
  await panel.waitFor({ state: "detached" });
  expect(page.url()).not.toContain("station=");
});

it("what is usual beside a station says of which time it is, and with what it is compared", async () => {
  const { page, open } = await visitAs("operator viewer");
  const operator = await callAsOperator(world);
  const { stations } = await operator.systemSums.glance({ params });
  const [{ id } = { id: "" }] = stations.empty.data;
  // Changes the response, as if ten rides an hour had begun at the station during a week.
  const sums = { minutes_empty: 0, minutes_full: 0, minutes_offline: 0, bikes: null, rides_ended: 0 };
  await page.route("**/station-sums?**", async (route) => {
    const response = await route.fetch();
    const all = (await response.json()) as object;
    await route.fulfill({ response, json: { ...all, data: [{ id, ...sums, rides_started: 7 * 24 * 10 }] } });
  });
  await open("/operator/overview");
  const help =
    "Usually: rides that begin at an empty station, or end at a full one, in as long a time, by the mean of the last seven days.";
  const troubled = page.getByRole("region", { name: "Empty and full stations" });
  await troubled.getByText(help).waitFor();
  await expect.poll(() => troubled.getByText(/rides? usually$/).getAttribute("title")).toBe(help);
  await page.unrouteAll({ behavior: "ignoreErrors" });
});

it("the map opens a station by a press and by the keyboard, and shows only what was chosen", async () => {
  const { page, open } = await visitAs("operator viewer");
  await open("/operator/map?availability=empty");
  const finder = page.getByRole("complementary", { name: "Stations" });
  await expect.poll(() => finder.getByRole("status").textContent()).toMatch(/^\d+ stations?$/);
  await finder.getByRole("searchbox", { name: "Station" }).fill("harbour street 1");
  await expect.poll(() => finder.getByRole("status").textContent()).toBe("1 station");
  const map = page.getByRole("application", { name: /Map of the stations/ });
  await map.focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/station=/);
  const panel = page.getByRole("complementary", { name: "Station", exact: true });
  await panel.getByRole("button", { name: "Close the station" }).click();
  await panel.waitFor({ state: "detached" });
  await page.getByText("Layers").click();
  await page.getByRole("checkbox", { name: "Free-standing bikes" }).check();
  await page.waitForURL(/layers=bikes/);
});

it("an operator reads when the peak of a day was, and narrows the time, with the keyboard alone", async () => {
  const { page, open } = await visitAs("operator viewer");
  // The service writes sums only once a minute, so the browser gets made-up sums of a day. The test checks how the page
  // shows them.
  await page.route("**/summary?**", async (route) => {
    const response = await route.fetch();
    const summary = (await response.json()) as ConsoleSummary;
    const at = (step: number) => (step % 4 === 0 ? 4 + (step === 32 ? 20 : 0) : 0);
    const data = summary.data.map((step, index) => ({ ...step, rides_started: at(index) }));
    await route.fulfill({ response, json: { ...summary, data, before: data } });
  });
  await open("/operator/overview?to=2026-01-15");
  const chart = page.getByRole("slider", { name: "116 rides" });
  await chart.focus();
  await page.keyboard.press("Home");
  await expect.poll(() => chart.getAttribute("aria-valuetext")).toBe("Thu 15 Jan, 00:00: Rides 4, The day before 4");
  for (let quarter = 0; quarter < 32; quarter++) await page.keyboard.press("ArrowRight");
  await expect.poll(() => chart.getAttribute("aria-valuetext")).toBe("Thu 15 Jan, 08:00: Rides 24, The day before 24");
  await page.getByText("Peak: 08:00").waitFor();
  for (let quarter = 0; quarter < 8; quarter++) await page.keyboard.press("Shift+ArrowRight");
  await page.keyboard.press("Enter");
  await page.waitForURL(/since=2026-01-15T07%3A00/);
  await page.getByText("Thu 15 Jan, 08:00–10:15").waitFor();
  await page.getByRole("button", { name: "Week" }).click();
  await page.waitForURL(/range=week/);
  expect(page.url()).not.toContain("since=");
  await page.unrouteAll({ behavior: "ignoreErrors" });
});

it("rides are compared with the period before only where all of it is known", async () => {
  const { page, open } = await visitAs("operator viewer");
  let known = 96;
  await page.route("**/summary?**", async (route) => {
    const response = await route.fetch();
    const summary = (await response.json()) as ConsoleSummary;
    const data = summary.data.map((step) => ({ ...step, rides_started: 2 }));
    const before = data.map((step, index) => ({ ...step, rides_started: index < known ? 1 : null }));
    await route.fulfill({ response, json: { ...summary, data, before } });
  });
  await open("/operator/overview?to=2026-01-15");
  await page.getByText("100 % more than the day before by then. Started in each quarter of an hour.").waitFor();
  known = 1;
  await open("/operator/overview?to=2026-01-14");
  await page.getByText("Started in each quarter of an hour.", { exact: true }).waitFor();
  await page.unrouteAll({ behavior: "ignoreErrors" });
});

it("an operator rewinds the map, sees how it was, and comes back to now", async () => {
  const { page, open } = await visitAs("operator viewer");
  await open("/operator/map?station=station-1");
  const slider = page.getByRole("slider", { name: "Time of day" });
  await slider.waitFor();
  await expect.poll(() => slider.getAttribute("aria-valuetext")).toBe("Now");
  const length = (await slider.boundingBox())?.width;
  const at = new Date(Date.now() - 1_000).toISOString();
  await open(`/operator/map?station=station-1&at=${at.slice(0, 16)}Z`);
  await page
    .getByText(/^As it was on /)
    .or(page.getByText("begins"))
    .first()
    .waitFor();
  expect((await slider.boundingBox())?.width).toBe(length);
  await page.getByRole("button", { name: "Back to now" }).click();
  await expect.poll(() => page.url()).not.toContain("at=");
  await page.getByRole("slider", { name: /^Bikes today/ }).waitFor();
});

it("support takes a station offline and brings it back, and the audit log names them", async () => {
  await closeStations(world, "station-44");
  const { page, open } = await visitAs("operator admin");
  await open("/operator/stations/station-44");
  await page
    .getByText("Minutes without a bike in each hour, the mean of the last eight weeks. The darkest: 60 min.")
    .waitFor();
  await page.getByRole("button", { name: "Take it offline" }).click();
  await page.getByText("Closed: closed by the operator").waitFor();
  await page.getByRole("button", { name: "Bring it back online" }).click();
  await page.getByRole("button", { name: "Take it offline" }).waitFor();
  await open("/operator/audit");
  await page.getByText("station.online").first().waitFor();
  await page.getByText("station.offline").first().waitFor();
});

it("nothing on the first page moves while it loads, on a desktop and on a phone", async () => {
  for (const viewport of [{ width: 1440, height: 900 }, PHONE]) {
    const { page, context } = await visitAs("operator viewer", { viewport });
    await context.addInitScript(() => {
      const shifts: { readonly value: number; readonly of: readonly string[] }[] = [];
      Object.assign(globalThis, { shifts });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) {
          const { value, sources } = entry as unknown as { value: number; sources: { node: Element | null }[] };
          shifts.push({ value, of: sources.map(({ node }) => node?.className ?? "") });
        }
      }).observe({ type: "layout-shift", buffered: true });
    });
    await page.goto("/dashboard/operator/overview");
    await page.getByRole("region", { name: "Empty and full stations" }).waitFor();
    await page.getByRole("application", { name: /Map of the stations/ }).waitFor();
    const shifts = await page.evaluate(() => (globalThis as unknown as { shifts: { value: number }[] }).shifts);
    expect(
      shifts.filter(({ value }) => value > 0.001),
      `${viewport.width} px`,
    ).toEqual([]);
  }
});
