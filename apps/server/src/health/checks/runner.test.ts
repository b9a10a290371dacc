import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createTestClock, type TestClock } from "@bikeshare/test-kit";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { type SmtpServer, startSmtpServer } from "../../../test/servers/smtp-server.ts";
import { createIds } from "../../ids.ts";
import { CHAT_ROOM, createOperatorMailer } from "../../outbound/mail/chat-room.ts";
import { createMailer, type Mailer } from "../../outbound/mail/mailer.ts";
import { listActs } from "../../partners/audit/queries.ts";
import { statement } from "../../storage/db/statement.ts";
import { acknowledge, acknowledgements, unacknowledge } from "./acknowledgements.ts";
import { type Check, type CheckResult, failure, ok, warning } from "./check.ts";
import { acknowledgingPage, concernsOf, countResults, startChecks } from "./runner.ts";
import { activeChecks } from "./stored-checks.ts";

const MINUTE = 60_000;
let database: TestDatabase;
let clock: TestClock;
let smtp: SmtpServer;
let finding: CheckResult | readonly CheckResult[];
const open: { close(): Promise<void> }[] = [];
const logged: [message: string, detail: object][] = [];

beforeEach(async () => {
  database = await createTestDatabase();
  clock = createTestClock();
  smtp = await startSmtpServer();
  finding = ok("feeds", "fine");
  logged.length = 0;
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
  await smtp.close();
  await database.close();
});

const feeds: Check = { name: "feeds", fix: "Look.", of: "main", find: () => Promise.resolve(finding) };

interface Process {
  readonly hasMail?: boolean;
  readonly checks?: readonly Check[];
  readonly processResults?: () => readonly CheckResult[];
  readonly addresses?: readonly string[];
  readonly mailer?: Mailer | undefined;
}

/** Starts the checks of a process. */
function start({
  hasMail = true,
  checks = [feeds],
  processResults = () => [],
  addresses = ["ops@bikes.example", "oncall@bikes.example"],
  mailer = hasMail ? createMailer(`smtp://127.0.0.1:${smtp.port}`, { from: "noreply@bikes.example" }) : undefined,
}: Process = {}) {
  const write = (detail: object, message: string) => void logged.push([message, detail]);
  const runner = startChecks({
    ...{ db: database.db, clock, ids: createIds(clock) },
    checks: () => Promise.resolve(checks),
    ...{ addresses, mailer, processResults },
    serviceName: "Oslo Bikes",
    pageOf: (check) => acknowledgingPage("https://bikes.example", check),
    logger: { info: write, warn: write },
    onError: (error) => void logged.push(["failed", { error }]),
    observeMail: () => undefined,
  });
  open.push(runner);
  return { ...runner, concerns: () => concernsOf(runner.results()) };
}

/** Returns the mails from number `from` on, as `<address> subject`. */
const mailed = (from = 0) =>
  smtp.mails
    .slice(from)
    .map(({ to, data }) => `${to[0]} ${/^Subject: (.*)\r$/m.exec(data)?.[1]}`)
    .toSorted((a, b) => (a < b ? -1 : 1));

it("mails each address once when it begins and once when it is over, however many processes find it", async () => {
  const nodes = [start(), start(), start()];
  const minutes = async (count: number) => {
    for (let minute = 0; minute < count; minute++) {
      await Promise.all(nodes.map((node) => node.runOnce()));
      clock.advance(MINUTE);
    }
  };
  await minutes(2);
  expect(nodes[0]?.concerns()).toEqual([]);
  finding = warning("feeds", "the feed is silent", "Mend it.");
  await minutes(5);
  expect(mailed()).toEqual([
    "<oncall@bikes.example> Feeds: the feed is silent",
    "<ops@bikes.example> Feeds: the feed is silent",
  ]);
  expect(nodes.map((node) => node.concerns())).toEqual(nodes.map(() => ["feeds: the feed is silent. Mend it."]));
  expect(await activeChecks(database.db)).toMatchObject([{ name: "feeds", of: "main", fix: "Mend it." }]);
  // A process that is killed changes nothing, because all it knows is in PostgreSQL.
  await nodes.pop()?.close();
  nodes.push(start());
  await minutes(5);
  expect(smtp.mails).toHaveLength(2);
  finding = ok("feeds", "fine");
  await minutes(10);
  expect(mailed(2)).toEqual(["<oncall@bikes.example> Over: feeds", "<ops@bikes.example> Over: feeds"]);
  expect(await activeChecks(database.db)).toEqual([]);
  expect(logged.map(([message]) => message)).toEqual(["a check needs attention", "a check is well again"]);
});

it("is in the log where there is no mail server, with what to do; what is true of a machine names it", async () => {
  finding = warning("certificate", "it expires tomorrow", "Renew it.");
  const node = start({ hasMail: false, checks: [{ ...feeds, name: "certificate", of: "node-1" }] });
  for (let minute = 0; minute < 4; minute++) {
    await node.runOnce();
    clock.advance(MINUTE);
  }
  expect(logged).toEqual([
    [
      "a check needs attention",
      expect.objectContaining({ check: "certificate", of: "node-1", fix: "Renew it.", isMailed: false }),
    ],
  ]);
});

it("what a process without a mail server finds is mailed by one that has it, at once", async () => {
  const [finder, mailing] = [start({ hasMail: false }), start({ checks: [] })];
  const minutes = async (count: number) => {
    for (let minute = 0; minute < count; minute++) {
      await finder.runOnce();
      await mailing.runOnce();
      clock.advance(MINUTE);
    }
  };
  finding = warning("feeds", "the feed is silent", "Mend it.");
  await minutes(3);
  expect(mailed()).toEqual([
    "<oncall@bikes.example> Feeds: the feed is silent",
    "<ops@bikes.example> Feeds: the feed is silent",
  ]);
  await minutes(10);
  expect(mailed()).toHaveLength(2);
  finding = ok("feeds", "fine");
  await minutes(10);
  expect(mailed(2)).toEqual(["<oncall@bikes.example> Over: feeds", "<ops@bikes.example> Over: feeds"]);
});

it("what began and ended while nobody could mail it is not mailed afterwards", async () => {
  const finder = start({ hasMail: false });
  const minutes = async (node: typeof finder, count: number) => {
    for (let minute = 0; minute < count; minute++, clock.advance(MINUTE)) await node.runOnce();
  };
  finding = warning("feeds", "the feed is silent", "Mend it.");
  await minutes(finder, 5);
  finding = ok("feeds", "fine");
  await minutes(finder, 10);
  await minutes(start(), 3);
  expect(mailed()).toEqual([]);
});

it("what the configuration permits is mailed once, and not each day", async () => {
  finding = warning("rate limit", "each counts by itself", "Set REDIS_URL.");
  const node = start({ checks: [{ ...feeds, name: "rate limit", isMailedOnce: true }] });
  for (let hour = 0; hour < 100; hour++) {
    await node.runOnce();
    clock.advance(60 * MINUTE);
  }
  expect(mailed()).toHaveLength(2);
  expect(smtp.mails[0]?.data).not.toMatch(/one a day/);
});

/** Runs a process's checks once a minute. */
async function pass(node: ReturnType<typeof start>, count: number): Promise<void> {
  for (let minute = 0; minute < count; minute++, clock.advance(MINUTE)) await node.runOnce();
}
const actor = () => ({ db: database.db, clock, ids: createIds(clock), actor: "person:operator", longRideAfterMs: 0 });
const known = { name: "feeds", of: "main", subject: "gbfs", severity: "warning", until: null } as const;
const counts = (node: ReturnType<typeof start>) =>
  Object.fromEntries(
    countResults(node.results())
      .filter(({ name, n }) => name === "feeds" && n > 0)
      .map(({ severity, n }) => [severity, n]),
  );

it("what is acknowledged is kept and counted as such, and sends no mail, neither while it lasts nor when it is over", async () => {
  const node = start();
  finding = warning("feeds", "the feed is silent", "Mend it.", { subject: "gbfs" });
  await pass(node, 3);
  expect([mailed().length, counts(node), node.concerns().length]).toEqual([2, { warning: 1 }, 1]);
  expect(smtp.mails[0]?.data.replaceAll("=\r\n", "")).toContain("/dashboard/operator/overview?");
  await acknowledge(actor(), "main", known);
  for (let hour = 0; hour < 73; hour++, clock.advance(60 * MINUTE)) await node.runOnce();
  expect([mailed().length, counts(node), node.concerns()]).toEqual([2, { acknowledged: 1 }, []]);
  expect(await activeChecks(database.db)).toHaveLength(1);
  finding = ok("feeds", "fine");
  await pass(node, 10);
  expect([mailed().length, await acknowledgements(database.db)]).toEqual([2, []]);
  // A finding that begins again is reported again.
  finding = warning("feeds", "the feed is silent", "Mend it.", { subject: "gbfs" });
  await pass(node, 3);
  expect(mailed()).toHaveLength(4);
});

it("what gets worse than it was acknowledged is mailed again, once, however often it wavers", async () => {
  const node = start();
  finding = warning("feeds", "the feed is silent", "Mend it.", { subject: "gbfs" });
  await pass(node, 1);
  await acknowledge(actor(), "main", known);
  await pass(node, 5);
  expect(mailed()).toEqual([]);
  for (let time = 0; time < 4; time++) {
    finding = failure("feeds", "the feed is gone", "Mend it.", { subject: "gbfs" });
    await pass(node, 2);
    finding = warning("feeds", "the feed is silent", "Mend it.", { subject: "gbfs" });
    await pass(node, 2);
  }
  expect(mailed()).toEqual([
    "<oncall@bikes.example> Feeds: the feed is gone",
    "<ops@bikes.example> Feeds: the feed is gone",
  ]);
  expect(await acknowledgements(database.db)).toEqual([]);
});

it("what counts twice as many as it was acknowledged with is mailed again, and what grows by less is not", async () => {
  const node = start();
  const stranded = (count: number) => warning("feeds", `${count} are held`, "Mend it.", { subject: "gbfs", count });
  finding = stranded(3);
  await pass(node, 1);
  await acknowledge(actor(), "main", known);
  finding = stranded(5);
  await pass(node, 5);
  expect([mailed(), counts(node)]).toEqual([[], { acknowledged: 1 }]);
  finding = stranded(6);
  await pass(node, 2);
  finding = stranded(3);
  await pass(node, 2);
  finding = stranded(300);
  await pass(node, 2);
  expect(mailed()).toEqual(["<oncall@bikes.example> Feeds: 6 are held", "<ops@bikes.example> Feeds: 6 are held"]);
  expect(await acknowledgements(database.db)).toEqual([]);
});

it("only what has been found can be acknowledged: what a process has recorded, or a system's own check finds now", async () => {
  const node = start();
  const missing = { code: "not_found" };
  await expect(acknowledge(actor(), "main", known)).rejects.toMatchObject(missing);
  finding = warning("feeds", "the feed is silent", "Mend it.", { subject: "gbfs" });
  await pass(node, 1);
  await expect(acknowledge(actor(), "main", { ...known, subject: "bergen" })).rejects.toMatchObject(missing);
  await acknowledge(actor(), "main", known);
  const stalled = { ...known, of: database.systemId, name: "imports", subject: "trips" };
  const acknowledgeStalled = () => acknowledge(actor(), database.systemId, stalled);
  await expect(acknowledgeStalled()).rejects.toMatchObject(missing);
  const running = `insert into running_imports (system_id, id, kind, began_at, alive_until, progressed_at, rows_read, created, unchanged, rejected)
    values ($1, 'import', 'trips', now() - interval '3 h', now() + interval '1 h', now() - interval '2 h', 0, 0, 0, 0)`;
  await database.db.query(statement("", running), [database.systemId]);
  await acknowledgeStalled();
  expect((await acknowledgements(database.db)).map(({ name }) => name)).toEqual(["feeds", "imports"]);
});

it("that something acknowledged is still found is recorded once an hour", async () => {
  const node = start();
  finding = warning("feeds", "the feed is silent", "Mend it.", { subject: "gbfs" });
  await pass(node, 1);
  const at = clock();
  await acknowledge(actor(), "main", known);
  const foundAfter = async () => (await acknowledgements(database.db)).map(({ foundAt }) => foundAt.getTime() - at);
  await pass(node, 60);
  expect(await foundAfter()).toEqual([0]);
  await pass(node, 1);
  expect(await foundAfter()).toEqual([60 * MINUTE]);
});

it("what is over while another subject of its check lasts is mailed when it comes back", async () => {
  const node = start();
  const oslo = warning("feeds", "oslo is silent", "Mend it.", { subject: "gbfs" });
  const bergen = warning("feeds", "bergen is silent", "Mend it.", { subject: "bergen" });
  finding = [oslo, bergen];
  await pass(node, 1);
  for (const subject of ["gbfs", "bergen"]) await acknowledge(actor(), "main", { ...known, subject });
  finding = bergen;
  for (let hour = 0; hour < 30; hour++, clock.advance(60 * MINUTE)) await node.runOnce();
  finding = [oslo, bergen];
  await pass(node, 10);
  expect(mailed()).toHaveLength(2);
  expect(mailed()[0]).toContain("oslo");
  expect(mailed()[0]).not.toContain("bergen");
});

it("another subject of the same check is mailed by itself; what is known of is not named", async () => {
  const node = start();
  finding = warning("feeds", "oslo is silent", "Mend it.", { subject: "gbfs" });
  await pass(node, 1);
  await acknowledge(actor(), "main", known);
  await pass(node, 5);
  finding = [finding, warning("feeds", "bergen is silent", "Mend it.", { subject: "bergen" })];
  await pass(node, 3);
  expect(mailed()).toEqual([
    "<oncall@bikes.example> Feeds: bergen is silent",
    "<ops@bikes.example> Feeds: bergen is silent",
  ]);
  expect(counts(node)).toEqual({ acknowledged: 1, warning: 1 });
});

it("of what a process finds about itself, only the acknowledged subject is kept as such", async () => {
  const results = ["events", "webhooks"].map((subject) => failure("background work", subject, "Look.", { subject }));
  const work: Check = { name: "background work", fix: "Look.", of: "node-1", find: () => Promise.resolve(results) };
  const node = start({ checks: [work], processResults: () => results });
  await node.runOnce();
  clock.advance(MINUTE);
  await node.runOnce();
  await acknowledge(actor(), database.systemId, {
    ...{ name: "background work", of: "node-1", subject: "events", severity: "failure", until: null },
  });
  await node.runOnce();
  expect(node.results().map(({ subject, isAcknowledged }) => [subject, isAcknowledged])).toEqual([
    ["events", true],
    ["webhooks", false],
  ]);
  expect(node.concerns()).toEqual([expect.stringContaining("webhooks")]);
});

it("an acknowledgement for a time, or one that is taken back, ends: the check is mailed again", async () => {
  const node = start();
  finding = warning("feeds", "the feed is silent", "Mend it.", { subject: "gbfs" });
  await pass(node, 1);
  await acknowledge(actor(), "main", { ...known, until: new Date(clock() + 60 * MINUTE) });
  await pass(node, 60);
  expect(mailed()).toEqual([]);
  await pass(node, 3);
  expect([mailed().length, await acknowledgements(database.db)]).toEqual([2, []]);
  await acknowledge(actor(), "main", known);
  await pass(node, 3);
  expect(await unacknowledge(actor(), "main", known)).toBe(true);
  await pass(node, 3);
  expect(mailed()).toHaveLength(4);
  expect(await unacknowledge(actor(), "main", known)).toBe(false);
  const acts = await listActs(database.db, "main", { since: new Date(0), limit: 10 });
  expect(acts.map(({ action, actor: who, subject }) => [action, who, subject]).toReversed()).toEqual([
    ["check.acknowledged", "person:operator", "feeds"],
    ["check.acknowledged", "person:operator", "feeds"],
    ["check.unacknowledged", "person:operator", "feeds"],
  ]);
});

it("what a process without a mail server found is not mailed by another one after it was acknowledged", async () => {
  const finder = start({ hasMail: false });
  finding = warning("feeds", "the feed is silent", "Mend it.", { subject: "gbfs" });
  await pass(finder, 4);
  await acknowledge(actor(), "main", known);
  await pass(finder, 1);
  await pass(start(), 3);
  expect(mailed()).toEqual([]);
});

it("nobody acknowledges another system's check, one that there is not, a partner's, or what no process has found", async () => {
  const refused = { code: "not_found" };
  await expect(acknowledge(actor(), "main", { ...known, of: "other" })).rejects.toMatchObject(refused);
  await expect(acknowledge(actor(), "main", { ...known, name: "nothing" })).rejects.toMatchObject(refused);
  await expect(acknowledge(actor(), "main", { ...known, name: "expiring keys" })).rejects.toMatchObject(refused);
  const machine = { ...known, name: "certificate", of: "node-1", subject: "" };
  await expect(acknowledge(actor(), "main", machine)).rejects.toMatchObject(refused);
  finding = warning("certificate", "it expires tomorrow", "Renew it.");
  await pass(start({ checks: [{ ...feeds, name: "certificate", of: "node-1" }] }), 4);
  await acknowledge(actor(), "main", machine);
});

it("an acknowledgement of what is gone, a system for example, is deleted after a day", async () => {
  finding = warning("feeds", "the feed is silent", "Mend it.", { subject: "gbfs" });
  await pass(start(), 1);
  await acknowledge(actor(), "main", known);
  const node = start({ checks: [] });
  await pass(node, 2);
  expect(await acknowledgements(database.db)).toHaveLength(1);
  clock.advance(24 * 60 * MINUTE);
  await pass(node, 2);
  expect(await acknowledgements(database.db)).toEqual([]);
});

it("a chat room gets one message when it begins and one when it is over", async () => {
  const messages: string[] = [];
  const room = createServer((request, response) => {
    request.on("data", (chunk: Buffer) => messages.push(chunk.toString()));
    request.on("end", () => response.end("ok"));
  });
  await once(room.listen(0, "127.0.0.1"), "listening");
  open.push({ close: async () => void (await once(room.close(), "close")) });
  const url = `http://127.0.0.1:${(room.address() as AddressInfo).port}/s3cret`;
  const nodes = [1, 2].map(() => start({ addresses: [CHAT_ROOM], mailer: createOperatorMailer(undefined, url) }));
  const minutes = async (count: number) => {
    for (let minute = 0; minute < count; minute++) {
      await Promise.all(nodes.map((node) => node.runOnce()));
      clock.advance(MINUTE);
    }
  };
  finding = warning("feeds", "the feed is silent", "Mend it.");
  await minutes(5);
  finding = ok("feeds", "fine");
  await minutes(10);
  expect(messages).toEqual([
    expect.stringMatching(/^{"text":"Feeds: the feed is silent\\n\\n.*Mend it\./) as string,
    expect.stringContaining("Over: feeds") as string,
  ]);
  expect(JSON.stringify(logged)).not.toContain("s3cret");
});
