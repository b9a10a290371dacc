import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTestClock } from "@bikeshare/test-kit";
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createProgram } from "../../src/cli/command-line.ts";
import type { CliContext } from "../../src/cli/context.ts";
import { acceptInvitation } from "../../src/console/people/invitations.ts";
import { startSession } from "../../src/console/sessions/service.ts";
import { createIds } from "../../src/ids.ts";
import { insertFailure } from "../../src/storage/set-aside/queries.ts";
import { createEmptyDatabase } from "../database.ts";
import { city23, CITY_TIME } from "../gbfs/city.ts";
import { examples } from "../trips/trip-import.harness.ts";
import { type CliHarness, openCliHarness } from "./cli.harness.ts";

/** For each command, the fields of its `--json` output in their order, because scripts depend on them. */
const fields: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ["alerts open", "alerts end"].map((command) => [
      command,
      "id source type summary description url times station_ids region_ids opened_at ended_at updated_at closes_station",
    ]),
  ),
  "alerts list": "alerts total",
  "audit list": "entries",
  backup: "file bytes made_at checks",
  "backup verify": "file bytes made_at checks",
  "bikes describe": "id published own from",
  "bikes list": "bikes total",
  "bikes show": "id published own from",
  check: "ok systems",
  "console invite": "id email role url expires_at mailed",
  "console reset": "id passkeys had_password identities",
  doctor: "ok checks",
  "export rides": "files left_out merged as_of",
  "export station-status": "files left_out merged as_of",
  "export stations": "files left_out merged as_of",
  forget: "rows tables",
  "gbfs check":
    "location kind checked_at system_id system_name version errors warnings notes verdicts findings passed files",
  "import gbfs": "id stations bikes described older failed waiting not_taken report",
  "import list": "imports",
  "import trips":
    "id rows created unchanged rejected reasons warnings stations_created refused skipped report first last time_shift",
  "import undo": "id kind rides stations bikes",
  "keys issue": "id key scopes expires_at rate_limit",
  "keys list": "keys",
  "keys revoke": "id revoked_at",
  "keys rotate": "id key scopes expires_at rate_limit replaces replaced_key_ends_at",
  "mds check": "agency_id agency_name mds_release programs",
  "mds create-agency": "client_id name agency_id provider_id key_id key vehicles",
  "mds set-agency": "client_id time_zone trips_since boundary requirements left_out",
  migrate: "applied",
  "migrate plan": "steps",
  openapi: "openapi info servers tags paths webhooks components",
  "partners allow-keys": "id key_allowance",
  "partners create": "id name max_reservations",
  "partners list": "partners",
  "partners remove":
    "id status removed_at revoked_keys cancelled_reservations endpoint_removed endpoints_removed unsent_deliveries",
  "partners resume": "id status changed probe held held_since endpoints",
  "partners sandbox": "system_id key_id key created",
  "partners set": "id name max_reservations changed",
  "partners suspend": "id status suspended_at changed",
  "pricing-plans list": "pricing_plans",
  "pricing-plans remove": "id",
  "pricing-plans set": "id published own from",
  "pricing-plans show": "id published own from",
  "regions list": "regions",
  "regions remove": "id",
  "regions set": "id published own from",
  "regions show": "id published own from",
  "replay gbfs": "snapshots events failed waiting report",
  restore: "file bytes made_at checks",
  "rides end": "results failed",
  "secrets remove-old-keys": "removed",
  "secrets rotate": "keys reencrypted unreadable",
  "set-aside list": "units",
  "set-aside release": "released",
  "stations describe": "id published own from",
  "stations list": "stations total",
  "stations show": "id published own from",
  "systems create": "id",
  "systems list": "systems",
  "systems set": "id published own from missing",
  "systems show": "id published own from missing",
  "vehicle-types list": "vehicle_types",
  "vehicle-types remove": "id",
  "vehicle-types set": "id published own from",
  "vehicle-types show": "id published own from",
  "webhooks add":
    "id partner_id name url events unreadable_events places thresholds max_per_hour email signature secret old_secrets_end_at status outcome",
  "webhooks deliveries": "deliveries next",
  "webhooks drop-held": "dropped held",
  "webhooks list": "endpoints workers",
  "webhooks pause": "id status pause_reason paused_at changed",
  "webhooks preview": "since until skipped deliveries by_event is_complete",
  "webhooks remove": "id status pause_reason paused_at changed unsent",
  "webhooks replay": "id total since until endpoint_status dry_run",
  "webhooks resend": "id total dry_run",
  "webhooks resume": "id status changed probe sent held held_since",
  "webhooks retry-now": "deliveries",
  "webhooks rotate": "id secret old_secrets_end_at",
  "webhooks send-held": "sent",
  "webhooks set":
    "id partner_id name url events unreadable_events places thresholds max_per_hour email signature secret old_secrets_end_at status outcome",
  "webhooks show":
    "id partner_id events email signature status pause_reason paused_at created_at updated_at name max_per_hour url places thresholds failing_since failures pending oldest_due held is_replaying held_since this_hour status_text secrets unreadable_events workers replays",
  "zones import": "published own from",
  "zones remove": "",
  "zones show": "published own from",
};

/**
 * Commands that run until they are stopped, or that need more than a database. Each names the file that tests its `--json`
 * output.
 */
const testedElsewhere: ReadonlySet<string> = new Set([
  ...["start", "simulate"], // start.test.ts
  "serve", // key-rotation.test.ts
  "run", // run.test.ts
  "sync gbfs", // sync-gbfs.test.ts
  ...["webhooks attempts", "webhooks redeliver", "webhooks stop-replay"], // webhooks.test.ts
  "webhooks test", // webhooks-test-delivery.test.ts
  "distribute", // distribute.test.ts
]);

const clock = createTestClock(new Date(CITY_TIME + 86_400_000).toISOString());
let harness: CliHarness;
/** Replaces parts of the context, such as the database that `restore` fills. */
let changes: Partial<CliContext> = {};
let program: CommandUnknownOpts;
/** The fields of each command that ran. */
const found = new Map<string, string>();

beforeAll(async () => {
  harness = await openCliHarness({
    clock,
    register: async (parent, cli) => {
      program = await createProgram("1", () => ({ ...cli(), ...changes }));
      for (const command of program.commands) parent.addCommand(command);
    },
  });
});
afterAll(() => harness.close());

/** Runs a command with `--json`. @returns its document, even if the command fails after printing it */
async function json(...words: string[]): Promise<Record<string, unknown>> {
  const failure: unknown = await harness.run("--json", ...words).catch((error: unknown) => error);
  const lines = harness.written.stdout.split("\n");
  // If nothing was printed, the command failed before its output.
  if (lines.length === 1) throw failure;
  expect(lines, words.join(" ")).toEqual([expect.stringMatching(/^\{.*\}$/), ""]);
  const document = JSON.parse(lines[0] ?? "") as Record<string, unknown>;
  const name = commandsOf(program, "").findLast((each) => `${words.join(" ")} `.startsWith(`${each} `));
  found.set(name ?? "", Object.keys(document).join(" "));
  return document;
}

/** Returns the words of every executable command, each after the commands that it extends. */
function commandsOf(command: CommandUnknownOpts, words: string): string[] {
  const below = command.commands.flatMap((each) => commandsOf(each, `${words} ${each.name()}`.trim()));
  return Reflect.get(command, "_actionHandler") === null ? below : [words, ...below].filter((name) => name !== "");
}

async function file(name: string, text: string): Promise<string> {
  await writeFile(join(harness.directory, name), text);
  return join(harness.directory, name);
}

it("every command prints one JSON document on one line, with the same fields in the same order", async () => {
  await runSystems();
  await runFeeds();
  await runExports();
  const partner = await runPartners();
  await runKeys(partner);
  await runWebhooks(["--partner", partner]);
  await json("partners", "remove", partner, "--yes");
  await runPeople();
  await runMaintenance();
  await runBackups();
  expect(Object.fromEntries(found)).toEqual(fields);
  const tested = [...found.keys(), ...testedElsewhere];
  expect(tested.toSorted()).toEqual(commandsOf(program, "").toSorted());
});

async function runExports(): Promise<void> {
  const of = ["--month", "2025-05", "--out", harness.directory];
  await json("export", "rides", ...of, "--privacy", "coarse");
  await json("export", "station-status", ...of);
  await json("export", "stations", "--out", harness.directory);
}

async function runSystems(): Promise<void> {
  await json("systems", "set", "--name", "Oslo", "--timezone", "Europe/Oslo");
  await json("systems", "show");
  await json("systems", "create", "bergen", "--name", "Bergen");
  await json("systems", "list");
  await json("vehicle-types", "set", "cargo", "--form-factor", "cargo_bicycle");
  await json("vehicle-types", "show", "cargo");
  await json("vehicle-types", "list");
  await json("vehicle-types", "remove", "cargo");
  await json("alerts", "open", "works", "--type", "other", "--summary", "Works");
  await json("alerts", "list");
  await json("alerts", "end", "works");
  await json("regions", "set", "west", "--name", "West");
  await json("regions", "show", "west");
  await json("regions", "list");
  const plan = ["--name", "Ride", "--currency", "EUR", "--price", "1", "--is-taxable", "true", "--description", "1 €"];
  await json("pricing-plans", "set", "ride", ...plan);
  await json("pricing-plans", "show", "ride");
  await json("pricing-plans", "list");
  await json("pricing-plans", "remove", "ride");
  const zones = join(harness.directory, "zones.json");
  const rules = [{ ride_start_allowed: true, ride_end_allowed: true, ride_through_allowed: true }];
  await writeFile(zones, JSON.stringify({ type: "FeatureCollection", features: [], global_rules: rules }));
  await json("zones", "import", zones);
  await json("zones", "show");
  await json("zones", "remove");
  await json("regions", "remove", "west");
}

async function runFeeds(): Promise<void> {
  const feeds = join(harness.directory, "feeds");
  await mkdir(feeds);
  for (const [feed, document] of Object.entries(city23())) await file(`feeds/${feed}.json`, JSON.stringify(document));
  await json("import", "gbfs", feeds);
  const snapshot = { ...city23()["station_status"], last_updated: CITY_TIME / 1000 + 60 };
  await json("replay", "gbfs", await file("series.ndjson", `${JSON.stringify(snapshot)}\n`));
  const trips = await file("trips.csv", examples.lyft);
  const { id } = await json("import", "trips", trips, "--time-zone", "America/New_York");
  await json("import", "list");
  await json("import", "undo", String(id));
  await json("gbfs", "check", "own");
  const { stations } = (await json("stations", "list")) as { stations: { id: string }[] };
  await json("stations", "describe", String(stations[0]?.id), "--city", "Oslo");
  await json("stations", "show", String(stations[0]?.id));
  const { bikes } = (await json("bikes", "list")) as { bikes: { id: string }[] };
  await json("bikes", "describe", String(bikes[0]?.id), "--vehicle-equipment", "winter_tires");
  await json("bikes", "show", String(bikes[0]?.id));
  await json("rides", "end", "ride-none");
}

async function runPartners(): Promise<string> {
  const { id } = await json("partners", "create", "Planner");
  const partner = String(id);
  await json("partners", "set", partner, "--max-reservations", "7");
  await json("partners", "allow-keys", partner, "--none");
  await json("partners", "suspend", partner);
  await json("partners", "resume", partner);
  await json("partners", "sandbox", partner);
  await json("partners", "list");
  const { client_id: agency } = await json("mds", "create-agency", "City");
  await json("mds", "set-agency", String(agency), "--time-zone", "Europe/Oslo");
  const requirements = join(harness.directory, "requirements.json");
  await writeFile(requirements, JSON.stringify({ programs: [] }));
  await json("mds", "check", "--requirements", requirements);
  return partner;
}

async function runKeys(partner: string): Promise<void> {
  const { id } = await json("keys", "issue", "--partner", partner, "--scopes", "rides:read");
  const { id: successor } = await json("keys", "rotate", String(id));
  await json("keys", "revoke", String(successor));
  await json("keys", "list");
}

async function runWebhooks(owner: readonly string[]): Promise<void> {
  await json("webhooks", "set", ...owner, "--url", "https://partner.example/hooks", "--events", "ride.started");
  await json("webhooks", "list");
  await json("webhooks", "preview", ...owner);
  await json("webhooks", "show", ...owner);
  await json("webhooks", "deliveries", ...owner);
  await json("webhooks", "retry-now", ...owner);
  await json("webhooks", "resend", ...owner, "--dry-run");
  await json("webhooks", "replay", ...owner, "--since", "1d", "--dry-run");
  await json("webhooks", "rotate", ...owner);
  await json("webhooks", "pause", ...owner);
  await json("webhooks", "resume", ...owner);
  await json("webhooks", "send-held", ...owner);
  await json("webhooks", "drop-held", ...owner);
  await json("webhooks", "remove", ...owner);
  const more = ["--name", "Staging", "--url", "https://partner.example/hooks", "--events", "ride.started"];
  await json("webhooks", "add", ...owner, ...more);
}

async function runPeople(): Promise<void> {
  const { url } = await json("console", "invite", "--operator", "--email", "a@operator.example");
  const context = { db: harness.db, clock, ids: createIds(clock), signInMethods: ["passkey"] } as const;
  const token = String(url).split("#")[1] ?? "";
  await acceptInvitation(context, token, { signedIn: undefined, name: "A" }, (tx, id) =>
    startSession({ ...context, db: tx }, id, { address: "", userAgent: "" }),
  );
  await json("console", "reset", "--email", "a@operator.example");
}

async function runMaintenance(): Promise<void> {
  const failed = { unit: "r1", message: "broke" };
  await insertFailure(harness.db, harness.systemId, "expire-reservation", failed, { first: 1000, most: 2000 });
  await json("set-aside", "list");
  await json("set-aside", "release", "--all");
  await json("forget", "--rider-ref", "rider-1");
  await json("audit", "list");
  await json("check");
  await json("openapi");
  await json("doctor");
  await json("migrate");
  await json("migrate", "plan");
  await json("secrets", "rotate", "--wait", "0s");
  await json("secrets", "remove-old-keys", "--now", "--wait", "0s");
}

async function runBackups(): Promise<void> {
  const backup = join(harness.directory, "backup.zip");
  await json("backup", backup);
  await json("backup", "verify", backup);
  const empty = await createEmptyDatabase();
  const { connectionString } = empty.db;
  changes = { openDatabaseAsIs: () => Promise.resolve({ connectionString, close: () => Promise.resolve() }) };
  await json("restore", backup);
  await empty.close();
}
