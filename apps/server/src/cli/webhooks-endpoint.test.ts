import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createTestClock } from "@bikeshare/test-kit";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type CliHarness, openCliHarness } from "../../test/cli/cli.harness.ts";
import { createIds } from "../ids.ts";
import { createPartner } from "../partners/service.ts";
import { registerWebhooks } from "./webhooks.ts";

let harness: CliHarness;
let partner: string;
const clock = createTestClock();

beforeEach(async () => {
  harness = await openCliHarness({ register: registerWebhooks, clock });
  partner = await partnerNamed("Partner 1");
});
afterEach(() => harness.close());

const partnerNamed = async (name: string) =>
  (await createPartner({ db: harness.db, clock, ids: createIds(clock), actor: "test" }, harness.systemId, name)).id;
const text = async (...args: string[]) => (await harness.run("webhooks", ...args)).stdout;
const json = async (...args: string[]) =>
  JSON.parse((await harness.run("--json", "webhooks", ...args)).stdout) as unknown;
const set = ["set", "--url", "https://partner.example/hooks", "--events", "ride.started,station.offline", "--partner"];

it("set says how to try the endpoint, and which events no key of the partner may read", async () => {
  const made = await text(...set, partner);
  expect(made).toContain(`\`bikeshare webhooks test --partner ${partner}\` sends an example.`);
  expect(made).toMatch(/^No key of this partner may read .+: ride.started, station.offline\.$/m);
  expect(await json("set", "--partner", partner, "--events", "ride.started")).toMatchObject({
    unreadable_events: ["ride.started"],
  });
});

it("list shows every partner's endpoint, and how many processes send", async () => {
  expect(await text("list")).toBe("No partner has an endpoint. `webhooks set` creates one.\n");
  await text(...set, partner);
  const other = await partnerNamed("Other\u001b[2J");
  await text(...set, other);
  await text("pause", "--partner", other);
  const lines = (await text("list")).trimEnd().split("\n");
  expect(lines).toHaveLength(5);
  expect(lines[1]).toMatch(
    new RegExp(`^${other} +Other\uFFFD\\[2J +Main +https://partner.example/hooks +paused by the operator`),
  );
  expect(lines[2]).toMatch(new RegExp(`^${partner} +Partner 1 +Main +https://partner.example/hooks +active +- +0 +0$`));
  expect(lines[4]).toBe("Sending: no process; start one with `serve`");
  expect(await json("list")).toMatchObject({ workers: 0, endpoints: [{ partner_id: other }, { partner_id: partner }] });
});

it("remove says what became of the secrets, the log and pending deliveries; set creates the endpoint again", async () => {
  await text(...set, partner);
  const removed = await text("remove", "--partner", partner);
  expect(removed).toContain("Its secrets are destroyed.");
  expect(removed).toContain("The log keeps each delivery for 30 days");
  expect(await text("remove", "--partner", partner)).toMatch(/^changed +no\n[^]*It was removed before/m);
  expect(await json("remove", "--partner", partner)).toMatchObject({
    changed: false,
    pause_reason: "removed",
    unsent: 0,
  });
  const shown = await text("show", "--partner", partner);
  expect(shown).toMatch(
    /^url +-\nevents +-\nplaces +anywhere\nthresholds +-\nmost in an hour +-\nemail +-\nsignature +Service-Signature\nstatus +removed, /m,
  );
  expect(await text(...set, partner)).toMatch(/^secret +whsec_\S+\n[^]*^outcome +created$/m);
});

it("thresholds and a limit are set by options, shown as they were written, and taken back", async () => {
  await text(...set, partner);
  const change = (...options: string[]) => json("set", "--partner", partner, ...options);
  const wanted = ["--thresholds", "bikes<1 for 10m; docks < 3 for 2h", "--max-per-hour", "20"];
  await expect(change(...wanted)).rejects.toThrow(
    /Choose the events station.below_threshold and station.back_to_normal/,
  );
  expect(await change("--events", "station.*", ...wanted)).toMatchObject({
    thresholds: [
      { count: "bikes", fewer_than: 1, for_minutes: 10, station_ids: [], region_ids: [] },
      { count: "docks", fewer_than: 3, for_minutes: 120, station_ids: [], region_ids: [] },
    ],
    max_per_hour: 20,
  });
  expect(await text("show", "--partner", partner)).toMatch(
    /^thresholds +bikes<1 for 10m, docks<3 for 120m\nmost in an hour +20$/m,
  );
  const again = await text("set", "--partner", partner, "--thresholds", "docks<4 for 1h");
  expect(again).toMatch(/^thresholds +docks<4 for 60m$/m);
  for (const wrong of ["bikes<1", "cars<1 for 1m", "bikes<0 for 1m", "bikes<1 for 2000m"])
    await expect(change("--thresholds", wrong)).rejects.toThrow(/must be like "bikes<1 for 10m at A,B"/);
  await expect(change("--thresholds", "bikes<1 for 10m at nowhere")).rejects.toThrow('There is no station "nowhere".');
  expect(await json("preview", "--partner", partner)).toMatchObject({ deliveries: 0, skipped: 0, is_complete: true });
  expect(await change("--no-thresholds", "--no-max-per-hour")).toMatchObject({ thresholds: [], max_per_hour: null });
});

it("every command distinguishes an unknown partner from one without an endpoint", async () => {
  for (const command of ["show", "pause", "resume", "rotate", "remove", "test", "deliveries"]) {
    await expect(text(command, "--partner", partner)).rejects.toThrow(
      /has no webhook endpoint. `webhooks set` creates one/,
    );
    await expect(text(command, "--partner", "nobody")).rejects.toThrow(/There is no partner nobody/);
  }
});

it("deliveries without any says so, and what to do", async () => {
  await text(...set, partner);
  expect(await text("deliveries", "--partner", partner)).toBe(
    `No deliveries in the last 30 days. \`bikeshare webhooks test --partner ${partner}\` sends an example.\n`,
  );
  expect(await text("deliveries", "--partner", partner, "--status", "failed")).toBe("No delivery matches.\n");
  const range = ["--since", "1h", "--until", "2h"];
  await expect(text("deliveries", "--partner", partner, ...range)).rejects.toThrow(/since must lie before until/);
});

it("a secrets file that the service does not use is rejected with its name, the first time too", async () => {
  await text(...set, partner);
  await text("remove", "--partner", partner);
  const file = join(harness.directory, "data", "secrets.json");
  await rm(file);
  await expect(text(...set, partner)).rejects.toThrow(
    `${file} (in DATA_DIR; SECRETS_FILE is not set): there is no such file`,
  );
});

it("commands that hints name are of the same system, where there are several", async () => {
  await harness.db.query({
    name: "",
    text: "insert into systems (system_id, name, created_at) values ('second', 'Second', now())",
  });
  const inMain = async (...args: string[]) => (await harness.run("--system", "main", "webhooks", ...args)).stdout;
  expect(await inMain(...set, partner)).toContain(
    `\`bikeshare --system main webhooks test --partner ${partner}\` sends`,
  );
  expect(await inMain("pause", "--partner", partner)).toContain(
    `\`bikeshare --system main webhooks resume --partner ${partner}\``,
  );
  expect(await inMain("deliveries", "--partner", partner)).toContain(
    `\`bikeshare --system main webhooks test --partner`,
  );
});
