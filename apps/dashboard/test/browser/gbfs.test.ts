import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { inspect, openBrowser } from "./browser.harness.ts";
import { callAsOperator } from "./console-client.ts";

const { world, visitAs, allow } = openBrowser();

const SYSTEM = "/operator/systems";
const zone = {
  type: "FeatureCollection",
  features: [
    {
      type: "Feature",
      properties: { name: "Old harbour", stroke: "#ff0000" },
      geometry: {
        type: "Polygon",
        coordinates: [
          [
            [16.36, 48.2],
            [16.38, 48.2],
            [16.38, 48.21],
            [16.36, 48.21],
            [16.36, 48.2],
          ],
        ],
      },
    },
  ],
};

// The first of this file, because the other tests add pricing plans.
it("the operator sees what planners show of the system's feeds, and how to show more", async () => {
  const { open } = await visitAs("operator viewer");
  const page = await open("/operator/feed-quality");
  for (const name of ["lamassu", "OpenTripPlanner", "MOTIS", "Google"])
    await page.getByRole("heading", { name, level: 3 }).waitFor();
  await page.getByText(/Shows 0 of \d+ stations: no pricing plans./).waitFor();
  await page.getByText("Publish system_pricing_plans.json, with one plan at least.").waitFor();
  await page.getByText("All listed files can be read.").waitFor();
  await inspect(page, "operator-feed-quality");
  await page.getByRole("link", { name: "System → Pricing plans" }).first().click();
  await page.getByRole("tab", { name: "Pricing plans", selected: true }).waitFor();
});

it("a newcomer sets a plan, a type, links and a zone, and sees them published", async () => {
  const { open } = await visitAs("operator admin");
  const page = await open(SYSTEM);
  await page.getByRole("heading", { name: "What planners miss" }).waitFor();
  await page.getByRole("link", { name: "Pricing plans" }).click();
  await page.getByRole("link", { name: "Add a pricing plan" }).click();
  // All missing fields show an error at once, and the first of them has the focus.
  await page.getByRole("button", { name: "Save" }).click();
  await expect.poll(() => page.getByText(/^Must be given/).count()).toBe(6);
  const idField = page.getByLabel("Id", { exact: true });
  await expect.poll(() => idField.evaluate((field) => field === document.activeElement)).toBe(true);
  await inspect(page, "gbfs-plan-missing");
  await page.getByLabel("Id", { exact: true }).fill("single");
  await page.getByLabel("Name", { exact: true }).fill("Single ride");
  await page.getByLabel("Currency").fill("eur");
  await page.getByLabel("Price", { exact: true }).first().fill("1");
  await page.getByLabel("Taxed").selectOption("No");
  await page.getByLabel("Description", { exact: true }).fill("1 € to start, then 10 cents a minute");
  await page.getByRole("button", { name: "Add to By time" }).click();
  await page.getByRole("group", { name: "By time" }).getByLabel("Start").fill("30");
  await page.getByRole("group", { name: "By time" }).getByLabel("Rate").fill("0,1");
  await page.getByRole("group", { name: "By time" }).getByLabel("Interval").fill("1");
  await inspect(page, "gbfs-plan-new");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("cell", { name: "€1.00 for the ride, €0.10 a minute from minute 30." }).waitFor();
  await page.getByText("No vehicle type uses this plan yet").waitFor();
  await inspect(page, "gbfs-plans");

  await page.getByRole("link", { name: "Set it" }).click();
  await page.getByRole("link", { name: "Add a vehicle type" }).click();
  await page.getByLabel("Id", { exact: true }).fill("ebike");
  await page.getByLabel("Name", { exact: true }).fill("E-bike");
  await page.getByLabel("Form").selectOption("bicycle");
  await page.getByLabel("Propulsion").selectOption("electric assist");
  await page.getByLabel("Range in metres").fill("60000");
  await page.getByLabel("Return").selectOption("any station");
  await page.getByLabel("Pricing plan").selectOption("Single ride");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("cell", { name: "60,000 m" }).waitFor();
  await inspect(page, "gbfs-types");
  await page.getByRole("tab", { name: "Pricing plans" }).click();
  await page
    .getByRole("row", { name: /Single ride/ })
    .getByText("E-bike")
    .waitFor();

  await page.getByRole("tab", { name: "Facts" }).click();
  await page.getByLabel("Feed contact").fill("feeds@bikes.example");
  await page
    .getByRole("group", { name: "Links to stations" })
    .getByLabel("Web")
    .fill("https://bikes.example/{station_id}");
  const ios = page.getByRole("group", { name: "iOS" });
  await ios.getByLabel("Page in the store").fill("https://apps.example/bikes");
  await ios.getByLabel("Address that tells").fill("bikes://");
  await page.getByRole("button", { name: "Add a language to Name" }).click();
  await page.getByLabel("Language of Name, 2").fill("de");
  await page.getByRole("textbox", { name: "Name, en", exact: true }).fill("City bikes");
  await page.getByRole("textbox", { name: "Name, de", exact: true }).fill("Stadtrad");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").first().waitFor();
  await inspect(page, "gbfs-facts");

  await page.getByRole("tab", { name: "Zones" }).click();
  const file = { name: "zones.geojson", mimeType: "application/geo+json", buffer: Buffer.from(JSON.stringify(zone)) };
  await page.getByLabel("GeoJSON file").setInputFiles(file);
  await page.getByLabel("Rule of the zone without one").selectOption("No parking");
  await page.getByRole("button", { name: "Import 1 zone" }).click();
  await page.getByRole("cell", { name: "Old harbour", exact: true }).waitFor();
  await page.getByRole("application", { name: /^Map of the zones/ }).waitFor();
  await inspect(page, "gbfs-zones");

  await page.getByRole("tab", { name: "Published" }).click();
  const shown = page.getByRole("tabpanel");
  await expect
    .poll(async () => {
      await page.getByRole("button", { name: "Read again" }).click();
      return shown.locator("pre").textContent();
    })
    .toContain("Stadtrad");
  await page.getByLabel("Feed").selectOption("geofencing_zones");
  await page.getByText("Old harbour").first().waitFor();
  await inspect(page, "gbfs-published");
  const types = await fetch(`${world.url}/gbfs/3.0/vehicle_types.json`);
  expect(await types.text()).toContain('"default_pricing_plan_id":"single"');
});

it("a value that GBFS does not allow is refused at its field, which gets the focus, and nothing is saved", async () => {
  const { open } = await visitAs("operator admin");
  const page = await open(SYSTEM);
  const zoneField = page.getByLabel("Time zone");
  await zoneField.fill("EST");
  await page.getByLabel("Website").fill("https://bikes.example");
  await page.keyboard.press("Enter");
  await page.getByText('Cannot be "EST": it must be an IANA time zone').waitFor();
  await expect.poll(() => zoneField.evaluate((field) => field === document.activeElement)).toBe(true);
  await inspect(page, "gbfs-refused");
  await zoneField.fill("");
  const app = page.getByRole("group", { name: "Android" });
  await app.getByLabel("Address that tells").fill("bikes://");
  await page.getByRole("button", { name: "Save" }).click();
  await expect
    .poll(() => app.getByLabel("Page in the store").evaluate((field) => field === document.activeElement))
    .toBe(true);
  await app.getByLabel("Address that tells").fill("");
  const link = page.getByRole("group", { name: "Links to stations" }).getByLabel("Web");
  await link.fill("https://bikes.example/{station}");
  await page.getByRole("button", { name: "Save" }).click();
  const wrong = page.getByText(/must be an address with \{station_id\} in it/).last();
  await wrong.waitFor();
  // The error is visible above the bar with the save button.
  const isSeen = (of: Element) => {
    const { left, top, height } = of.getBoundingClientRect();
    return of.contains(document.elementFromPoint(left + 5, top + height / 2));
  };
  await expect.poll(() => wrong.evaluate(isSeen)).toBe(true);
  await page.reload();
  await expect.poll(() => page.getByLabel("Website").inputValue()).toBe("");
  allow(/400/);
});

it("an id that is taken or not allowed is refused at its field, and no other plan is changed", async () => {
  const operator = await callAsOperator(world);
  const addPlan = (id: string) =>
    operator.descriptions.set({
      params: { system_id: world.systemId, kind: "pricing_plan", id },
      query: {},
      body: { name: id, currency: "EUR", price: 1, is_taxable: false, description: "As it was" },
    });
  await addPlan("taken");
  const { open } = await visitAs("operator admin");
  const page = await open(`${SYSTEM}?view=plans&new=yes`);
  const sent: string[] = [];
  page.on("request", (request) => {
    if (request.method() === "PATCH") sent.push(request.url());
  });
  const id = page.getByLabel("Id", { exact: true });
  await page.getByLabel("Name", { exact: true }).fill("Another");
  await page.getByLabel("Currency").fill("EUR");
  await page.getByLabel("Price", { exact: true }).first().fill("7");
  await page.getByLabel("Taxed").selectOption("No");
  await page.getByLabel("Description", { exact: true }).fill("Another");
  const save = async (typed: string) => {
    await id.fill(typed);
    await page.getByRole("button", { name: "Save" }).click();
  };
  const error = page.getByText("There is a pricing plan with this id: open it in the list");
  await save(" taken ");
  await error.waitFor();
  await expect.poll(() => id.evaluate((field) => field === document.activeElement)).toBe(true);
  await id.fill("free");
  await error.waitFor({ state: "detached" });
  expect(sent).toEqual([]);

  await save("my plan");
  await page.getByText('Cannot be "my plan": it must be an id').waitFor();
  // Somebody else adds a plan with the id that this form is about to take.
  await addPlan("raced");
  await save("raced");
  await page.getByText("Somebody else, or a feed, has changed this").waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await error.waitFor();
  expect(sent).toHaveLength(2);
  const { own } = await operator.descriptions.get({
    params: { system_id: world.systemId, kind: "pricing_plan", id: "raced" },
  });
  expect(own).toMatchObject({ price: 1 });
  allow(/status of (400|409)/);
});

it.each([
  ["a phone", { width: 390, height: 844 }],
  ["a desktop", { width: 1280, height: 900 }],
])("on %s no bar covers a control of a form that gets the focus at the edge of the window", async (_, size) => {
  const { open, page } = await visitAs("operator admin");
  await page.setViewportSize(size);
  await open(SYSTEM);
  await page.getByLabel("Website").waitFor();
  const covered = await page.locator(".fact-form").evaluate((form) => {
    const isCovered = (control: HTMLElement, edge: "top" | "bottom") => {
      control.blur();
      scrollBy(0, control.getBoundingClientRect()[edge] - (edge === "top" ? 0 : innerHeight));
      control.focus();
      const { left, right, top, bottom } = control.getBoundingClientRect();
      return [top + 2, bottom - 2].some((y) => document.elementFromPoint((left + right) / 2, y) !== control);
    };
    const controls = [...form.querySelectorAll<HTMLElement>("input, select, textarea, button")];
    return (["top", "bottom"] as const).flatMap((edge) =>
      controls.filter((control) => isCovered(control, edge)).map((control) => `${edge}: ${control.outerHTML}`),
    );
  });
  expect(covered).toEqual([]);
});

it("who goes on typing elsewhere in a refused zone stays there", async () => {
  const { open } = await visitAs("operator admin");
  const page = await open(`${SYSTEM}?view=zones`);
  const file = { name: "zones.geojson", mimeType: "application/geo+json", buffer: Buffer.from(JSON.stringify(zone)) };
  await page.getByLabel("GeoJSON file").setInputFiles(file);
  await page.getByRole("button", { name: "Import 1 zone" }).click();
  // Until the import is over, no other change is sent.
  await page.getByText("Saved. The feeds show it within a minute.").waitFor();
  await page.getByRole("button", { name: "Change Old harbour" }).first().click();
  // The form of the rules outside all zones has such a field too, and is there before the form of this zone opens.
  const form = page.locator("form", { has: page.getByRole("button", { name: "Save the zone" }) });
  const speed = form.getByLabel("Top speed in km/h");
  await speed.fill("-1");
  await form.getByRole("button", { name: "Save the zone" }).click();
  await expect.poll(() => speed.getAttribute("aria-invalid")).toBe("true");
  await expect.poll(() => speed.evaluate((field) => field === document.activeElement)).toBe(true);
  const name = form.getByRole("textbox", { name: "Name", exact: true });
  await name.fill("");
  await name.pressSequentially("New harbour");
  expect(await name.inputValue()).toBe("New harbour");
  allow(/400/);
});

it("what is published is read again from where it has failed", async () => {
  const { open, page } = await visitAs("operator viewer");
  const failing = /\/gbfs\/.*\/gbfs\.json$/;
  await page.route(failing, (route) => route.fulfill({ status: 404 }));
  await open(`${SYSTEM}?view=published`);
  const again = page.getByRole("button", { name: "Try again" });
  await again.waitFor();
  await page.unroute(failing);
  await again.click();
  await page.getByRole("group", { name: "system_information" }).waitFor();
  allow(/404/);
});

it("a plan is added by the keyboard alone", async () => {
  const { open } = await visitAs("operator admin");
  const page = await open(SYSTEM);
  await page.getByRole("tab", { name: "Facts" }).focus();
  await page.keyboard.press("ArrowRight");
  await page.getByRole("link", { name: "Add a pricing plan" }).last().focus();
  await page.keyboard.press("Enter");
  await page.getByLabel("Id", { exact: true }).focus();
  const next = async (text: string, tabs = 1) => {
    await page.keyboard.type(text);
    for (let step = 0; step < tabs; step++) await page.keyboard.press("Tab");
  };
  await next("day");
  await next("Day", 3); // past its language and the button for another
  await next("EUR");
  await next("9");
  await next("Y");
  await next("9 euros a day", 1);
  await page.keyboard.press("Control+Enter");
  await page.getByRole("button", { name: "Save" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("cell", { name: "€9.00 for the ride, plus tax." }).waitFor();
});

it("two operators with the same form open do not undo each other's changes", async () => {
  const [first, second] = [await visitAs("operator admin"), await visitAs("operator admin")];
  const [mine, theirs] = [await first.open(SYSTEM), await second.open(SYSTEM)];
  const saved = async (page: Page) => {
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").first().waitFor();
  };
  await mine.getByLabel("Feed contact").waitFor();
  await theirs.getByLabel("Feed contact").fill("theirs@bikes.example");
  await saved(theirs);
  await mine.getByLabel("Phone", { exact: true }).fill("+4312345");
  await mine.getByRole("button", { name: "Save" }).click();
  await mine.getByText("Somebody else, or a feed, has changed this").waitFor();
  expect(await mine.getByLabel("Feed contact").inputValue()).toBe("theirs@bikes.example");
  expect(await mine.getByLabel("Phone", { exact: true }).inputValue()).toBe("+4312345");
  await saved(mine);
  await theirs.reload();
  await expect.poll(() => theirs.getByLabel("Phone", { exact: true }).inputValue()).toBe("+4312345");
  expect(await theirs.getByLabel("Feed contact").inputValue()).toBe("theirs@bikes.example");
  allow(/409/);
});

it("a viewer reads the facts, and can change none", async () => {
  const { open } = await visitAs("operator viewer");
  const page = await open(SYSTEM);
  await page.getByLabel("Website").waitFor();
  expect(await page.getByLabel("Website").isDisabled()).toBe(true);
  expect(await page.getByRole("button", { name: "Save" }).count()).toBe(0);
});
