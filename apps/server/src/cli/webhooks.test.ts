import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestClock, serviceProgram, type TestClock } from "@bikeshare/test-kit";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CliHarness, openCliHarness } from "../../test/cli/cli.harness.ts";
import { answered } from "../../test/webhooks/endpoints.harness.ts";
import { recordEvents } from "../events/outbox.ts";
import { createIds, type Ids } from "../ids.ts";
import { createPartner } from "../partners/service.ts";
import { statement } from "../storage/db/statement.ts";
import { resultOf } from "../webhooks/dispatcher/result-writer.ts";
import { claimDeliveries, insertResults, updateHeartbeat } from "../webhooks/queue/lane-queries.ts";
import { UsageError } from "./options.ts";
import { registerWebhooks } from "./webhooks.ts";

const main = await serviceProgram();
let harness: CliHarness;
let clock: TestClock;
let ids: Ids;
let partner: string;

beforeEach(async () => {
  clock = createTestClock();
  let ticks = 0;
  ids = createIds(() => clock() + ticks++);
  harness = await openCliHarness({ register: registerWebhooks, clock });
  partner = (await createPartner({ db: harness.db, clock, ids, actor: "test" }, harness.systemId, "Partner 1")).id;
  await updateHeartbeat(harness.db, harness.systemId, "worker", 3_600_000);
});
afterEach(() => harness.close());

/** Runs a command with `--json` and returns what it printed. */
async function json<Shape>(...args: string[]): Promise<Shape> {
  const { stdout } = await harness.run("--json", "webhooks", ...args);
  expect(stdout.trimEnd().split("\n")).toHaveLength(1);
  return JSON.parse(stdout) as Shape;
}
const text = async (...args: string[]) => (await harness.run("webhooks", ...args)).stdout;
const set = (...more: string[]) =>
  json<{
    id: string;
    secret: string | null;
    status: string;
    outcome: string;
    events: string[];
    url: string;
    email: string | null;
  }>("set", "--partner", partner, ...more);
const make = () => set("--url", "https://partner.example/hooks", "--events", "ride.completed,ride.started");

async function happen(n: number): Promise<void> {
  for (let i = 0; i < n; i++) {
    const now = new Date(clock());
    const event = { name: "ride.started" as const, occurredAt: now, partnerId: null, data: "{}" };
    await harness.db.transaction((tx) => recordEvents(tx, { ids, systemId: harness.systemId, now }, [event]));
    clock.advance(1);
  }
}

/** Completes every attempt that is due with the same response. */
async function send(endpointId: string, status: number, body = ""): Promise<void> {
  const { db, systemId } = harness;
  const now = new Date(clock());
  const claimed = await claimDeliveries(
    db,
    systemId,
    [{ endpointId, token: 0, limit: 99, dueFrom: new Date(0) }],
    false,
    now,
  );
  const url = "https://partner.example/hooks";
  const made = { url, message: { headers: [], body: `{"sent":1}` }, startedAt: clock(), endedAt: clock(), chance: 0 };
  const result = answered(status, body);
  const kept = { headers: result.answerHeaders, body: result.answerBody, truncationReason: null };
  const rows = claimed.map((row) => resultOf({ ...made, row, result, kept }));
  await db.transaction((tx) => insertResults(tx, systemId, now, rows));
}

describe("webhooks set", () => {
  it("makes an endpoint and shows its secret only then", async () => {
    const made = await make();
    expect(made).toMatchObject({
      url: "https://partner.example/hooks",
      events: ["ride.started", "ride.completed"],
      email: null,
      status: "active",
      outcome: "created",
    });
    expect(made.secret).toMatch(/^whsec_[A-Za-z0-9_-]{43}$/);
    expect(await set("--email", "ops@partner.example")).toMatchObject({
      id: made.id,
      secret: null,
      outcome: "changed",
      email: "ops@partner.example",
    });
    expect(await set("--no-email")).toMatchObject({ email: null });
    expect(await text("set", "--partner", partner, "--events", "ride.started")).toContain("The secret is unchanged.");
  });

  it("says why an address, an event or a call without options is rejected", async () => {
    const refused = (...args: string[]) => expect(set(...args)).rejects;
    await refused("--url", "http://partner.example/", "--events", "ride.started").toThrow(/must begin with https/);
    await refused("--url", "https://10.0.0.1/", "--events", "ride.started").toThrow(/WEBHOOK_ALLOW_NETWORKS/);
    await refused("--url", "https://partner.example/", "--events", "rides").toThrow(/There is no event "rides"/);
    await refused("--url", "https://partner.example/").toThrow(/needs a URL and at least one event/);
    await refused().toThrow(/Give at least one setting, such as --name, --url/);
  });
});

describe("webhooks add", () => {
  it("gives a partner several endpoints, which every command tells apart by id or name", async () => {
    const first = await make();
    const more = ["--url", "https://staging.example/hooks", "--events", "ride.started"];
    const added = await text("add", "--partner", partner, "--name", "Staging area", ...more);
    expect(added).toMatch(/webhooks test --partner \S+ --endpoint endpoint_\w+` sends an example/);
    await expect(text("pause", "--partner", partner)).rejects.toThrow(
      new RegExp(`name one with --endpoint. It has: "Main" \\(${first.id}\\), "Staging area" \\(endpoint_`),
    );
    expect(await text("pause", "--partner", partner, "--endpoint", "staging AREA")).toContain(
      `webhooks resume --partner ${partner} --endpoint 'staging AREA'\` sends again`,
    );
    expect(await json("show", "--partner", partner, "--endpoint", first.id)).toMatchObject({ status: "active" });
    expect(await json("list", "--partner", partner)).toMatchObject({
      endpoints: [
        { id: first.id, name: "Main", status: "active" },
        { name: "Staging area", status: "paused" },
      ],
    });
    expect(await json("list", "--partner", "partner_none")).toMatchObject({ endpoints: [] });
    const renamed = await json("set", "--partner", partner, "--endpoint", "staging area", "--name", "Staging");
    expect(renamed).toMatchObject({ name: "Staging", outcome: "changed", secret: null });
  });
});

describe("webhooks show, pause, resume, rotate", () => {
  it("show an endpoint for people and as JSON, without a secret", async () => {
    const { id, secret } = await make();
    await happen(2);
    const shown = await text("show", "--partner", partner);
    expect(shown).toMatch(new RegExp(`^endpoint +${id}\n`));
    expect(shown).toMatch(/^waiting +2\nfirst due +2026-06-01T12:00:00.000Z$/m);
    expect(await json("show", "--partner", partner)).toMatchObject({ id, status: "active", pending: 2, held: 0 });
    expect(shown).not.toContain(secret);
  });

  it("pause and resume, and say how many are held and how to send them", async () => {
    const { id } = await make();
    expect(await json("pause", "--partner", partner)).toMatchObject({
      id,
      status: "paused",
      pause_reason: "operator",
      changed: true,
    });
    expect(await text("pause", "--partner", partner)).toMatch(/^changed +no$/m);
    expect(await text("set", "--partner", partner, "--url", "https://new.example/")).toContain(
      "The endpoint stays paused",
    );
    await happen(3);
    expect(await text("show", "--partner", partner)).toContain("paused by the operator, 2026-06-01T12:00:00.000Z");
    const resumed = await text("resume", "--partner", partner);
    expect(resumed).toMatch(/^probe +delivery_\S+\nsent +0\nheld +2$[^]*^2 deliveries are held/m);
    expect(await text("show", "--partner", partner)).toContain("2 deliveries are held until");
    const [, command = ""] = /^ {2}bikeshare webhooks (send-held \S+ \S+)/m.exec(resumed) ?? [];
    expect(await json(...command.split(" "))).toEqual({ sent: 2 });
    expect(await text("show", "--partner", partner)).not.toContain("are held until");
    expect(await text("resume", "--partner", partner)).toMatch(/^status +probing\nchanged +no$/m);
  });

  it("resume and send what is held, or drop it, but never more than whoever drops has been shown", async () => {
    await make();
    await json("pause", "--partner", partner);
    await happen(3);
    expect(await json("resume", "--partner", partner, "--send-held")).toMatchObject({ sent: 2, held: 0 });
    clock.advance(1);
    await json("pause", "--partner", partner);
    await happen(3);
    expect(await text("drop-held", "--partner", partner)).toBe(
      `dropped  0\nheld     3\n\nTo drop them: bikeshare webhooks drop-held --partner ${partner} --count 3\n`,
    );
    await expect(json("drop-held", "--partner", partner, "--count", "2")).rejects.toThrow(/3 deliveries are held now/);
    expect(await json("drop-held", "--partner", partner, "--count", "3")).toEqual({ dropped: 3, held: 0 });
  });

  it("resend what matches every filter, counted first", async () => {
    await make();
    await json("pause", "--partner", partner);
    await happen(3);
    const filters = ["--partner", partner, "--status", "held", "--event", "ride.started", "--since", "1h"];
    expect(await json("resend", ...filters, "--dry-run")).toEqual({ id: null, total: 3, dry_run: true });
    expect(await json("resend", ...filters, "--code", "5xx", "--dry-run")).toMatchObject({ total: 0 });
    expect(await text("resend", ...filters)).toMatch(
      /^id +replay_\S+\ntotal +3\n[^]*They wait until the endpoint is active/,
    );
    await expect(json("resend", ...filters, "--code", "9")).rejects.toThrow(/must be a code such as 503/);
  });

  it("rotate a secret, with an overlap or none", async () => {
    const { secret } = await make();
    const rotated = await json<{ secret: string; old_secrets_end_at: string }>("rotate", "--partner", partner);
    expect(rotated.secret).not.toBe(secret);
    expect(rotated.old_secrets_end_at).toBe("2026-06-02T12:00:00.000Z");
    expect(await text("show", "--partner", partner)).toMatch(/^secrets +current, until 2026-06-02T12:00:00.000Z$/m);
    expect(await text("rotate", "--partner", partner, "--overlap", "0h")).toContain("only the dashboard shows it");
    expect(await text("show", "--partner", partner)).toMatch(/^secrets +current$/m);
    await expect(json("rotate", "--partner", partner, "--overlap", "8d")).rejects.toThrow(
      new UsageError('--overlap is "8d": it must be a duration from 0h to 7d, such as 30s, 15m, 24h or 7d.'),
    );
    await expect(json("rotate", "--partner", partner, "--overlap", "soon")).rejects.toThrow(/must be a duration/);
  });
});

describe("webhooks deliveries, attempts, redeliver, replay", () => {
  interface Listed {
    readonly deliveries: { id: string; status: string; explanation: string }[];
    readonly next: string | null;
  }

  it("list deliveries page by page, each explained, with filters", async () => {
    const { id } = await make();
    await happen(3);
    await send(id, 204);
    await happen(2);
    const first = await json<Listed>("deliveries", "--partner", partner, "--limit", "4");
    expect(first.deliveries.map(({ status }) => status)).toEqual(["pending", "pending", "succeeded", "succeeded"]);
    expect(first.deliveries[2]?.explanation).toMatch(/^arrived .+ at attempt 1, answered 204$/);
    const second = await json<Listed>("deliveries", "--partner", partner, "--limit", "4", "--after", first.next ?? "");
    expect(second.deliveries).toHaveLength(1);
    expect(second.next).toBeNull();
    const pending = await text(
      "deliveries",
      "--partner",
      partner,
      "--status",
      "pending",
      "--event",
      "ride.started",
      "--since",
      "1h",
    );
    expect(pending.match(/queued: attempt 1 of 14/g)).toHaveLength(2);
    expect(await text("deliveries", "--partner", partner, "--limit", "1")).toMatch(/\nMore: --after delivery_\S+\n$/);
    await expect(text("deliveries", "--partner", partner, "--event", "ride.begun")).rejects.toThrow(
      /must be one of ride.started/,
    );
    await expect(text("deliveries", "--partner", partner, "--since", "yesterday")).rejects.toThrow(/RFC 3339/);
    await expect(text("deliveries", "--partner", partner, "--limit", "201")).rejects.toThrow(/from 1 to 200/);
  });

  it("show every exchange readably, with nothing in it that a terminal would act on", async () => {
    const { id } = await make();
    await happen(1);
    await send(id, 500, "broken\n\u001b[2Jgone");
    const { deliveries } = await json<Listed>("deliveries", "--partner", partner);
    const delivery = deliveries[0]?.id ?? "";
    expect(await text("attempts", delivery)).toBe(
      [
        `delivery     ${delivery}`,
        "event        ride.started",
        `partner      ${partner}`,
        "endpoint     Main",
        "created      2026-06-01T12:00:00.000Z",
        "status       pending",
        "explanation  queued: attempt 2 of 14 due at 2026-06-01T12:00:05.001Z; the latest attempt: answered 500",
        "",
        "--- attempt 1, 2026-06-01T12:00:00.001Z: answered 500",
        "to 192.0.2.7; dns 1.0 ms, connect 2.0 ms, tls 3.0 ms, first byte 4.0 ms, total 20.0 ms",
        "> POST https://partner.example/hooks",
        "> Host: partner.example",
        "> Content-Type: application/json",
        ">",
        `> {"sent":1}`,
        "< 500",
        "< Server: test",
        "<",
        "< broken",
        "< \uFFFD[2Jgone",
        "next attempt 2026-06-01T12:00:05.001Z (after attempt 1 of 14: answered 500)",
        "",
      ].join("\n"),
    );
    const shown = await json<{ attempts: { answer: { body: { text: string } } }[] }>("attempts", delivery);
    expect(shown.attempts[0]?.answer.body.text).toBe("broken\n\u001b[2Jgone");
    await expect(text("attempts", "delivery_none")).rejects.toThrow(/There is no delivery delivery_none/);
  });

  it("retry now what waits for its next attempt", async () => {
    const { id } = await make();
    await happen(2);
    await send(id, 500);
    expect(await text("retry-now", "--partner", partner)).toBe("deliveries due now  2\n");
    expect(await text("retry-now", "--partner", partner)).toBe("deliveries due now  0\n");
    expect(await json("retry-now", "--partner", partner)).toEqual({ deliveries: 0 });
  });

  it("redeliver one, and replay a range that is counted before", async () => {
    const { id } = await make();
    await happen(2);
    await send(id, 204);
    const { deliveries } = await json<Listed>("deliveries", "--partner", partner);
    const delivery = deliveries[0]?.id ?? "";
    const range = ["replay", "--partner", partner, "--since", "2026-06-01T00:00:00Z"];
    expect(await json(...range, "--dry-run")).toMatchObject({ id: null, total: 2, dry_run: true });
    expect(await text(...range, "--dry-run")).toMatch(/^id +-\ntotal +2\n/);
    expect(await json("redeliver", delivery)).toEqual({ id: delivery, outcome: "redelivered" });
    expect(await text("redeliver", delivery)).toContain("Nothing was changed");
    expect(await json(...range, "--status", "succeeded,held")).toMatchObject({ total: 1, dry_run: false });
    expect(await text("show", "--partner", partner)).toMatch(/^replay_\S+ .+ 1 +0 +-$/m);
    const [, started = ""] = /^(replay_\w+)/m.exec(await text("show", "--partner", partner)) ?? [];
    expect(await text("stop-replay", started)).toMatch(/^total +1\nqueued +0\n[^]*^changed +yes$/m);
    expect(await json("stop-replay", started)).toMatchObject({ changed: false, total: 1 });
    expect(await text("show", "--partner", partner)).toMatch(/^replay_\S+ .+ 1 +0 +2026-/m);
    await expect(json(...range, "--status", "pending")).rejects.toThrow(
      /--status is "pending": it must be one of succeeded, failed, held/,
    );
  });

  it("write who did what into the audit log", async () => {
    const { id } = await make();
    await happen(1);
    await send(id, 204);
    const { deliveries } = await json<Listed>("deliveries", "--partner", partner);
    await json("rotate", "--partner", partner);
    await json("replay", "--partner", partner, "--since", "1d");
    await json("redeliver", deliveries[0]?.id ?? "");
    await json("pause", "--partner", partner);
    await json("resume", "--partner", partner);
    const acts = await harness.db.query<{ action: string; actor: string }>(
      statement("", "select action, actor from audit_log where action like 'webhook.%' order by id"),
    );
    expect(acts).toEqual(
      ["created", "secret_rotated", "replayed", "redelivered", "paused", "resumed"].map((act) => ({
        action: `webhook.${act}`,
        actor: "cli:test",
      })),
    );
  });
});

describe("as a process", () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "bikeshare-webhooks-"));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  interface Ended {
    readonly status: number;
    readonly stdout: string;
    readonly stderr: string;
  }
  const start = (dataDir: string, ...args: string[]): Promise<Ended> =>
    new Promise((resolve) => {
      const env = { ...process.env, DATABASE_URL: harness.db.connectionString, DATA_DIR: join(directory, dataDir) };
      execFile(
        process.execPath,
        ["--conditions=@bikeshare/source", main, "webhooks", ...args],
        { env },
        (error, stdout, stderr) => resolve({ status: Number(error?.code ?? 0), stdout, stderr }),
      );
    });
  const settings = () => ["set", "--partner", partner, "--url", "https://partner.example/", "--events", "ride.started"];

  it("exits with 0 done, 1 failed, 2 wrong usage; another machine's secrets file is rejected", async () => {
    expect(await start("one", ...settings())).toMatchObject({ status: 0, stderr: "" });
    expect(JSON.parse(await readFile(join(directory, "one", "secrets.json"), "utf8"))).toHaveProperty("webhook_keys");
    expect(await start("other", "rotate", "--partner", partner)).toMatchObject({
      status: 2,
      stdout: "",
      stderr: expect.stringMatching(
        /secrets\.json .+: there is no such file, and this database has been used/,
      ) as unknown,
    });
    expect(await start("one", "show", "--partner", "nobody")).toMatchObject({ status: 1, stdout: "" });
    expect(await start("one", "show")).toMatchObject({ status: 2, stdout: "" });
    expect(await start("one", "replay", "--partner", partner, "--since", "later")).toMatchObject({
      status: 2,
      stdout: "",
    });
  });
});
