import { createTestClock } from "@bikeshare/test-kit";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type CliHarness, openCliHarness } from "../../test/cli/cli.harness.ts";
import { recordEvents } from "../events/outbox.ts";
import { createIds } from "../ids.ts";
import { registerPartners } from "./partners.ts";
import { registerWebhooks } from "./webhooks.ts";

let harness: CliHarness;
const clock = createTestClock();
const ids = createIds(clock);

beforeEach(async () => {
  const register: typeof registerPartners = (program, context) => {
    registerPartners(program, context);
    registerWebhooks(program, context);
  };
  harness = await openCliHarness({ register, clock });
});
afterEach(() => harness.close());

const text = async (...args: string[]) => (await harness.run(...args)).stdout;
const json = async (...args: string[]) =>
  JSON.parse((await harness.run("--json", ...args)).stdout) as Record<string, unknown>;
const make = async (name: string) => (await json("partners", "create", name))["id"] as string;
const withEndpoint = async (name: string) => {
  const id = await make(name);
  await text("webhooks", "set", "--partner", id, "--url", "https://partner.example/hooks", "--events", "ride.started");
  return id;
};

async function happen(): Promise<void> {
  const now = new Date(clock());
  const event = { name: "ride.started" as const, occurredAt: now, partnerId: null, data: "{}" };
  await harness.db.transaction((tx) => recordEvents(tx, { ids, systemId: harness.systemId, now }, [event]));
  clock.advance(1);
}

it("suspend holds deliveries until resume, which goes on like any resume; nothing else ends the pause", async () => {
  const id = await withEndpoint("Acme");
  expect(await text("partners", "suspend", id)).toMatch(/^status +suspended\n.*\nchanged +yes\n/m);
  expect(await text("partners", "suspend", id)).toMatch(/^changed +no$/m);
  await happen();
  await happen();
  expect(await json("webhooks", "show", "--partner", id)).toMatchObject({
    status: "paused",
    pause_reason: "suspended",
    held: 2,
  });
  expect(await text("webhooks", "show", "--partner", id)).toMatch(
    /^status +paused because its partner is suspended, /m,
  );
  await expect(text("webhooks", "resume", "--partner", id)).rejects.toThrow(`\`partners resume ${id}\` ends that`);
  expect(await text("partners", "list")).toMatch(/Acme +suspended 2\d{3}-/);
  const resumed = await json("partners", "resume", id);
  expect(resumed).toMatchObject({ status: "active", changed: true, held: 1, probe: expect.any(String) as string });
  expect(await json("webhooks", "show", "--partner", id)).toMatchObject({ status: "probing", pending: 1, held: 1 });
  expect(await text("partners", "resume", id)).toContain("The partner was not suspended.");
});

it("an endpoint that was paused before stays paused when its partner is resumed", async () => {
  const id = await withEndpoint("Acme");
  await text("webhooks", "pause", "--partner", id);
  await text("partners", "suspend", id);
  await text("partners", "resume", id);
  expect(await json("webhooks", "show", "--partner", id)).toMatchObject({ status: "paused", pause_reason: "operator" });
  await text("webhooks", "resume", "--partner", id);
});

it("resume names the endpoint whose deliveries are held when another stays paused, so that the command works", async () => {
  const id = await withEndpoint("Acme");
  const add = ["webhooks", "add", "--partner", id, "--name", "Second", "--url", "https://partner.example/second"];
  await text(...add, "--events", "ride.started");
  await text("webhooks", "pause", "--partner", id, "--endpoint", "Second");
  await text("partners", "suspend", id);
  await happen();
  await happen();
  const resumed = await text("partners", "resume", id);
  const [, command = ""] = /^ {2}bikeshare (webhooks send-held .+?) {3}/m.exec(resumed) ?? [];
  expect(await json(...command.split(" "))).toEqual({ sent: 1 });
});

it("a suspended partner gets no endpoint, and a removed one neither", async () => {
  const id = await make("Acme");
  const set = [
    "webhooks",
    "set",
    "--partner",
    id,
    "--url",
    "https://partner.example/hooks",
    "--events",
    "ride.started",
  ];
  await text("partners", "suspend", id);
  await expect(text(...set)).rejects.toThrow("is suspended");
  await text("partners", "remove", id, "--yes");
  await expect(text(...set)).rejects.toThrow(`There is no partner ${id}`);
});

it("remove asks for --yes, says what it ends, and leaves the log", async () => {
  const id = await withEndpoint("Acme");
  await happen();
  await expect(text("partners", "remove", id)).rejects.toThrow(`This removes partner ${id} (Acme) for good`);
  expect(await json("partners", "list")).toMatchObject({ partners: [{ id, status: "active" }] });
  expect(await json("partners", "remove", id, "--yes")).toMatchObject({
    status: "removed",
    revoked_keys: 0,
    endpoint_removed: true,
    unsent_deliveries: 1,
  });
  expect(await json("webhooks", "show", "--partner", id)).toMatchObject({
    url: null,
    pause_reason: "removed",
    secrets: [],
  });
  expect(await json("webhooks", "deliveries", "--partner", id)).toMatchObject({
    deliveries: [{ event: "ride.started" }],
  });
  expect(await json("partners", "list")).toEqual({ partners: [] });
  expect(await json("partners", "list", "--all")).toMatchObject({ partners: [{ id, status: "removed" }] });
});

it("create takes how many bikes the partner may hold at once, and rejects what is not such a number", async () => {
  expect(await json("partners", "create", "Bounded", "--max-reservations", "7")).toMatchObject({ max_reservations: 7 });
  expect(await json("partners", "create", "Usual")).toMatchObject({ max_reservations: 50 });
  for (const wrong of ["0", "-1", "1.5", "many", "1000001", "default"]) {
    await expect(text("partners", "create", "Wrong", "--max-reservations", wrong)).rejects.toThrow(
      `--max-reservations is "${wrong}": it must be an integer from 1 to 1000000.`,
    );
  }
  expect(await text("partners", "list")).toMatch(/Bounded .* 7 +none\n.*Usual .* 50 +none\n/);
});

it("set changes what is given, and rejects a name that is in use", async () => {
  const [first] = [await make("First"), await make("Second")];
  expect(await json("partners", "set", first, "--max-reservations", "5")).toMatchObject({ max_reservations: 5 });
  expect(await text("partners", "set", first, "--max-reservations", "5")).toMatch(/^changed +no$/m);
  expect(await json("partners", "set", first, "--max-reservations", "default")).toMatchObject({ max_reservations: 50 });
  await expect(text("partners", "set", first, "--name", "second")).rejects.toThrow('has the name "Second"');
  await expect(text("partners", "set", first)).rejects.toThrow("Give at least one of --name and --max-reservations");
  await expect(text("partners", "create", " FIRST ")).rejects.toThrow("Choose another");
});
