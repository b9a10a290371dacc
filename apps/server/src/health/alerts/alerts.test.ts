import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestClock, type TestClock } from "@bikeshare/test-kit";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { makeCertificate } from "../../../test/servers/certificates.ts";
import { type SmtpServer, startSmtpServer } from "../../../test/servers/smtp-server.ts";
import { readConfig } from "../../config.ts";
import { afterSuccess } from "../../feeds/gbfs/feed-health.rules.ts";
import { updateFeedHealth } from "../../feeds/gbfs/health-queries.ts";
import { updateApiHeartbeat } from "../../http/rate-limits/queries.ts";
import { createIds } from "../../ids.ts";
import { createMailer } from "../../outbound/mail/mailer.ts";
import type { PeriodicWork } from "../../storage/background/periodic.ts";
import { statement } from "../../storage/db/statement.ts";
import { createConcerns } from "../conditions/concerns.ts";
import { type AlertCheck, databaseChecks, machineChecks } from "./checks.ts";
import { type Finding, ok, warning } from "./finding.ts";
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

interface Incident {
  readonly check: AlertCheck | undefined;
  /** How the mail's subject begins. */
  readonly subject: string;
  readonly begin: () => unknown;
  readonly end: () => unknown;
}

const rows = (sql: string, ...values: unknown[]) =>
  database.db.query(statement("", sql), [database.systemId, ...values]);
const configured = (env: Readonly<Record<string, string>> = {}) => readConfig(env, "/nowhere");
const inDatabase = (name: string, config = configured(), now: () => number = clock) =>
  databaseChecks(database.db, config, now).find((check) => check.name === name);

/** What makes each alert begin and end that needs no Prometheus. */
const incidents: Readonly<Record<string, () => Promise<Incident> | Incident>> = {
  "a database that is nearly full": () => {
    let databaseSizeLimitGb = 1_000;
    const config = {
      ...configured(),
      get databaseSizeLimitGb() {
        return databaseSizeLimitGb;
      },
    };
    return {
      check: inDatabase("database size", config),
      subject: "Database size: the database has 0.0 of the ",
      begin: () => (databaseSizeLimitGb = 0.001),
      end: () => (databaseSizeLimitGb = 1_000),
    };
  },
  "a feed that is silent": () => {
    const health = (goodAt: number) =>
      updateFeedHealth(
        database.db,
        { systemId: database.systemId, source: "gbfs", now: clock() },
        new Map([["station_status", afterSuccess(goodAt)]]),
      );
    return {
      check: inDatabase("feeds"),
      subject: 'Feeds: the feed station_status of "gbfs" of main was last good ',
      begin: () => health(clock() - 60 * MINUTE),
      end: () => health(clock()),
    };
  },
  "a feed that is stale": () => {
    const health = (dataAt: number) =>
      updateFeedHealth(
        database.db,
        { systemId: database.systemId, source: "gbfs", now: clock() },
        new Map([["station_status", afterSuccess(clock() + 60 * MINUTE)]]),
        new Map([["station_status", { at: dataAt, digest: `${dataAt}`, ttlMs: 60_000 }]]),
      );
    return {
      check: inDatabase("feeds"),
      subject: 'Feeds: the feed station_status of "gbfs" of main is stale: its data are of ',
      begin: () => health(clock() - 61 * MINUTE),
      end: () => health(clock() + 60 * MINUTE),
    };
  },
  "a backlog that is old": () => ({
    check: inDatabase("webhooks"),
    subject: "Webhooks: a webhook of main has been due for ",
    begin: () =>
      rows(
        `insert into webhook_queue (system_id, delivery_id, endpoint_id, created_on, event_id, replay, due_at, attempts, tries)
         values ($1, 'delivery-1', 'endpoint-1', $2::timestamptz::date, 'event-1', false, $2::timestamptz, 0, 0)`,
        new Date(clock() - 20 * MINUTE),
      ),
    end: () => rows("delete from webhook_queue where system_id = $1"),
  }),
  "events that wait": () => ({
    check: inDatabase("events"),
    subject: "Events: the oldest event of main waits for its number since ",
    begin: () =>
      rows("insert into event_outbox values ($1, 'event-1', 'ride.started', now() - interval '5 min', null, '{}')"),
    end: () => rows("delete from event_outbox where system_id = $1"),
  }),
  "an import that stands still": () => ({
    check: inDatabase("imports"),
    subject: "Imports: an import (trips) of main has not got on for 60 min",
    begin: () =>
      rows(
        `insert into running_imports values ($1, 'import-1', 'trips', now(), now() + interval '1 h', now() - interval '1 h',
           0.5, 1, 0, 0, 0)`,
      ),
    end: () => rows("update running_imports set progressed_at = now() where system_id = $1"),
  }),
  "a rate limit that each process counts by itself": () => ({
    check: inDatabase("rate limit"),
    subject: "Rate limit: 2 processes answer requests, and each counts by itself",
    begin: async () => {
      for (const process of ["one", "other"]) await updateApiHeartbeat(database.db, process, 60 * MINUTE);
    },
    end: () => database.db.query(statement("", "delete from api_processes")),
  }),
  "a certificate near its end": async () => {
    const directory = await mkdtemp(join(tmpdir(), "bikeshare-alerts-"));
    open.push({ close: () => rm(directory, { recursive: true }) });
    const [certFile, keyFile] = [join(directory, "cert.pem"), join(directory, "key.pem")];
    const renew = async (days: number) => {
      const { cert, key } = await makeCertificate("bikes.example", days);
      await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key)]);
    };
    await renew(90);
    const config = configured({ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile });
    const realClock = () => performance.timeOrigin + performance.now();
    return {
      check: machineChecks(config, realClock).find(({ name }) => name === "certificate"),
      subject: `Certificate: ${certFile} expires on `,
      begin: () => renew(5),
      end: () => renew(90),
    };
  },
};

/** A subject as a reader shows it: unfolded, and with its quotes and letters of its own (RFC 2047). */
function decoded(subject: string): string {
  return subject
    .replaceAll(/\r\n /g, " ")
    .replaceAll(/\?= =\?/g, "?==?")
    .replaceAll(/=\?UTF-8\?Q\?(.*?)\?=/g, (_, text: string) =>
      decodeURIComponent(text.replaceAll("_", " ").replaceAll("%", "%25").replaceAll("=", "%")),
    );
}

it.each(Object.keys(incidents))(
  "%s is one mail to each address, no more while it lasts, and one when it is over",
  async (name) => {
    const { check, subject, begin, end } = await incidents[name]!();
    const node = start({ checks: [check!] });
    const minutes = async (count: number) => {
      for (let minute = 0; minute < count; minute++) {
        await node.runOnce();
        clock.advance(MINUTE);
      }
    };
    const subjects = () =>
      smtp.mails.map(({ data }) => decoded(/^Subject: (.*(?:\r\n .*)*)\r$/m.exec(data)?.[1] ?? ""));
    await minutes(4);
    expect(subjects()).toEqual([]);
    await begin();
    await minutes(10);
    expect(subjects()).toEqual([expect.stringContaining(subject), expect.stringContaining(subject)]);
    await end();
    await minutes(12);
    expect(subjects().slice(2)).toEqual([`Over: ${check!.name}`, `Over: ${check!.name}`]);
  },
);

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
  const node = start({ checks: [{ ...feeds, name: "rate limit", isPermitted: true }] });
  for (let hour = 0; hour < 100; hour++) {
    await node.runOnce();
    clock.advance(60 * MINUTE);
  }
  expect(mailed()).toHaveLength(2);
  expect(smtp.mails[0]?.data).not.toMatch(/one a day/);
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
