import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { inspect, openBrowser } from "./browser.harness.ts";
import { callAsOperator } from "./console-client.ts";

const { world, visitAs, visitAsNewPerson, allow } = openBrowser();

const COLUMNS =
  "ride_id,rideable_type,started_at,ended_at,start_station_name,start_station_id,end_station_name,end_station_id,start_lat,start_lng,end_lat,end_lng,member_casual";

/** Returns a trip file of a month with 25 valid rides and one that ends before it starts. */
function monthOfRides(): string {
  const ride = (n: number, end: string) =>
    `DROPPED${n},classic_bike,2026-02-${String(n).padStart(2, "0")} 08:00:00,2026-02-${String(n).padStart(2, "0")} ${end},,station-1,,station-2,,,,,member`;
  return [COLUMNS, ...Array.from({ length: 25 }, (_, n) => ride(n + 1, "08:20:00")), ride(26, "07:50:00")].join("\n");
}

it("an operator imports last month by dropping a file, sees what would be imported, and undoes it", async () => {
  const { page, open } = await visitAs("operator admin");
  await open("/operator/imports");
  const box = page.getByText("Drop a file of trips here, or choose one");
  await box.waitFor();
  await inspect(page, "operator-imports-drop");
  const transfer = await page.evaluateHandle((text) => {
    const files = new DataTransfer();
    files.items.add(new File([text], "2026-02.csv", { type: "text/csv" }));
    return files;
  }, monthOfRides());
  await box.dispatchEvent("drop", { dataTransfer: transfer });
  await page.getByRole("heading", { name: "25 rides of 2026-02.csv would be imported" }).waitFor();
  await page.getByText("Lyft since 2020").waitFor();
  await page.getByRole("row", { name: /Line 27 ended_at .* 07:50:00 end before start rejected/ }).waitFor();
  await inspect(page, "operator-imports-tried");
  await page.getByRole("button", { name: "Change" }).click();
  const zone = page.getByLabel("Time zone of the file");
  await zone.fill("Europe/Nowhere");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText('Cannot be "Europe/Nowhere": it must be one of the IANA list, such as Europe/Vienna.').waitFor();
  await expect.poll(() => zone.evaluate((field) => field === document.activeElement)).toBe(true);
  await page.getByRole("button", { name: "Cancel" }).click();
  allow(/400/);

  // Another person sees who has uploaded the file, and a viewer gets no buttons.
  const viewer = await visitAs("operator viewer");
  await viewer.open("/operator/imports");
  await viewer.page.getByRole("heading", { name: "25 rides of 2026-02.csv would be imported" }).waitFor();
  expect(await viewer.page.getByRole("button", { name: /Import|Discard/ }).count()).toBe(0);

  await page.getByRole("button", { name: "Import 25 rides" }).click();
  await page.getByText("25 rides of 2026-02.csv are imported").waitFor();
  await page.getByText("Stored before: 0. Rejected: 1.").waitFor();
  await page.getByRole("row", { name: /trip files trips done 25 rides/ }).waitFor();
  await inspect(page, "operator-imports-done");
  await page.getByRole("link", { name: "Report and undo" }).click();
  await page.getByRole("heading", { name: "Import of trip files" }).waitFor();
  await page.getByText("2026-02.csv", { exact: true }).first().waitFor();
  await inspect(page, "operator-import");
  await page.getByRole("button", { name: "Undo", exact: true }).click();
  await page.getByRole("button", { name: "Undo the import" }).click();
  await page.getByText("undone", { exact: true }).first().waitFor();
  await open("/operator/imports");
  await page.getByText("The import of 2026-02.csv was undone").waitFor();
  await page.getByText("25 of its 25 rides are removed.").waitFor();
  expect(await page.getByText("are imported").count()).toBe(0);
  await box.waitFor();
});

it("a file that is no trip file is refused with the reason, and discarded", async () => {
  const { page, open } = await visitAs("operator admin");
  await open("/operator/imports");
  const chooser = page.getByLabel("A file of trips");
  await chooser.setInputFiles({ name: "bikes.csv", mimeType: "text/csv", buffer: Buffer.from("a;b\n1;2\n") });
  await page.getByText(/is not that of a known trip file/).waitFor();
  await page.getByText(/separated by semicolons: save it with commas/).waitFor();
  expect(await page.getByRole("button", { name: /^Import \d/ }).count()).toBe(0);
  await page.getByRole("button", { name: "Discard" }).click();
  await page.getByText("Drop a file of trips here, or choose one").waitFor();
});

it("somebody whose file is refused because of another one is shown that one", async () => {
  allow(/409/);
  const [first, second] = [await visitAs("operator admin"), await visitAs("operator admin")];
  await second.open("/operator/imports");
  await second.page.getByText("Drop a file of trips here, or choose one").waitFor();
  await first.open("/operator/imports");
  const file = { name: "first.csv", mimeType: "text/csv", buffer: Buffer.from(monthOfRides()) };
  await first.page.getByLabel("A file of trips").setInputFiles(file);
  await first.page.getByRole("heading", { name: "25 rides of first.csv would be imported" }).waitFor();
  await second.page.getByLabel("A file of trips").setInputFiles({ ...file, name: "second.csv" });
  await second.page
    .getByText(/is importing first\.csv, and one file is imported at a time/)
    .first()
    .waitFor();
  await second.page.getByRole("button", { name: "Discard" }).click();
  await second.page.getByText("Drop a file of trips here, or choose one").waitFor();
});

it("an operator sends the city last month's open data: makes it, looks at it, shares it", async () => {
  const { page, open } = await visitAsNewPerson(null);
  await open("/operator/exports");
  await page.getByRole("button", { name: "Make a file" }).click();
  await page.getByLabel("Month").fill("2026-01");
  await inspect(page, "operator-export-dialog");
  await page.getByRole("dialog").getByRole("button", { name: "Make", exact: true }).click();
  const row = page.getByRole("row", { name: /Rides, 2026-01, coarse/ });
  await row.getByText("ready", { exact: true }).waitFor();
  await inspect(page, "operator-exports");
  const download = page.waitForEvent("download");
  await row.getByText("Download", { exact: true }).click();
  expect((await download).suggestedFilename()).toMatch(/^main-rides-2026-01-coarse.*\.csv\.gz$/);
  await row.getByRole("button", { name: /^Share/ }).click();
  await row.getByText("shared", { exact: true }).waitFor();

  // The city's program has a key, and downloads the shared file.
  const operator = await callAsOperator(world);
  const { key } = await operator.systemKeys.issue({
    params: { system_id: world.systemId },
    body: {
      ...{ partner_id: world.partnerId, scopes: ["exports:read"], name: "City", expires_at: null, rate_limit: null },
    },
  });
  const list = await fetch(`${world.url}/v1/exports?month=2026-01`, { headers: { authorization: `Bearer ${key}` } });
  const { data } = (await list.json()) as { data: { download_url: string; sha256: string; rows: number }[] };
  const [shared] = data;
  const file = Buffer.from(await (await fetch(shared?.download_url ?? "")).arrayBuffer());
  expect(createHash("sha256").update(file).digest("hex")).toBe(shared?.sha256);
  await row.getByRole("button", { name: /^Delete/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await row.waitFor({ state: "detached" });
});
