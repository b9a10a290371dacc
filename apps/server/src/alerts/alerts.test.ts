import { createTestClock, type TestClock } from "@bikeshare/test-kit";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { type SmtpServer, startSmtpServer } from "../../test/servers/smtp-server.ts";
import type { PeriodicWork } from "../background/periodic.ts";
import { createConcerns } from "../conditions/concerns.ts";
import { readConfig } from "../config.ts";
import { statement } from "../db/statement.ts";
import { type Finding, ok, warning } from "../doctor/finding.ts";
import { createIds } from "../ids.ts";
import { createMailer } from "../mail/mailer.ts";
import { updateApiHeartbeat } from "../rate-limits/queries.ts";
import { type AlertCheck, databaseChecks } from "./checks.ts";
import { activeAlerts, startAlerts } from "./service.ts";

const MINUTE = 60_000;
let database: TestDatabase;
let clock: TestClock;
let smtp: SmtpServer;
let finding: Finding;
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

const feeds: AlertCheck = { name: "feeds", fix: "Look.", scope: "deployment", find: () => Promise.resolve(finding) };

/** The alerts of a process. */
function start({ hasMail = true, machine = "node-1", checks = [feeds] } = {}): PeriodicWork & {
  readonly concerns: () => readonly string[];
} {
  const concerns = createConcerns();
  const write = (detail: object, message: string) => void logged.push([message, detail]);
  const alerts = startAlerts({
    ...{ db: database.db, clock, ids: createIds(clock), machine, concerns, checks },
    addresses: ["ops@bikes.example", "oncall@bikes.example"],
    mailer: hasMail ? createMailer(`smtp://127.0.0.1:${smtp.port}`, { from: "noreply@bikes.example" }) : undefined,
    serviceName: "Oslo Bikes",
    logger: { info: write, warn: write },
    onError: (error) => void logged.push(["failed", { error }]),
    observeMail: () => undefined,
  });
  open.push(alerts);
  return { ...alerts, concerns: () => concerns.list() };
}

/** The mails from the nth on, as `<address> subject`. */
const mailed = (from = 0) =>
  smtp.mails
    .slice(from)
    .map(({ to, data }) => `${to[0]} ${/^Subject: (.*)\r$/m.exec(data)?.[1]}`)
    .toSorted((a, b) => (a < b ? -1 : 1));

it("mails each address once when it begins and once when it is over, however many processes find it", async () => {
  const nodes = [start({ machine: "node-1" }), start({ machine: "node-2" }), start({ machine: "node-3" })];
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
  expect(nodes.map((node) => node.concerns())).toEqual(nodes.map(() => ["the feed is silent"]));
  expect(await activeAlerts(database.db)).toMatchObject([{ name: "feeds", scope: "", fix: "Mend it." }]);
  // A process that is killed in between changes nothing: what it knows is in PostgreSQL.
  await nodes.pop()?.close();
  nodes.push(start({ machine: "node-4" }));
  await minutes(5);
  expect(smtp.mails).toHaveLength(2);
  finding = ok("feeds", "fine");
  await minutes(10);
  expect(mailed(2)).toEqual(["<oncall@bikes.example> Over: feeds", "<ops@bikes.example> Over: feeds"]);
  expect(await activeAlerts(database.db)).toEqual([]);
  expect(logged.map(([message]) => message)).toEqual(["an alert has begun", "an alert is over"]);
});

it("is in the log where there is no mail server, with what to do; what is true of a machine names it", async () => {
  finding = warning("certificate", "it expires tomorrow", "Renew it.");
  const node = start({ hasMail: false, checks: [{ ...feeds, name: "certificate", scope: "machine" }] });
  for (let minute = 0; minute < 4; minute++) {
    await node.runOnce();
    clock.advance(MINUTE);
  }
  expect(logged).toEqual([
    [
      "an alert has begun",
      expect.objectContaining({ alert: "certificate", machine: "node-1", fix: "Renew it.", isMailed: false }),
    ],
  ]);
});

it("finds in the database what nobody has to watch Prometheus for", async () => {
  const { db, systemId } = database;
  const found = async (env: Readonly<Record<string, string>> = {}) => {
    const checks = databaseChecks(db, readConfig(env, "/nowhere"), clock);
    const all = await Promise.all(checks.map(async ({ name, find }) => [name, [await find()].flat()] as const));
    return all.flatMap(([name, findings]) => findings.filter(({ status }) => status !== "ok").map(() => name));
  };
  // The test's clock is not the database's: its partitions are of another day.
  const expected = ["partitions"];
  expect((await found()).filter((name) => !expected.includes(name))).toEqual([]);
  for (const process of ["one", "other"]) await updateApiHeartbeat(db, process, MINUTE);
  expect(await found()).toEqual(expect.arrayContaining(["rate limit", "workers"]));
  const due = new Date(clock() - 20 * MINUTE);
  await db.query(
    statement(
      "",
      `insert into webhook_queue (system_id, delivery_id, endpoint_id, created_on, event_id, replay, due_at, attempts, tries)
       values ($1, 'delivery-1', 'endpoint-1', $2::timestamptz::date, 'event-1', false, $2::timestamptz, 0, 0)`,
    ),
    [systemId, due],
  );
  expect(await found()).toContain("webhooks");
});
