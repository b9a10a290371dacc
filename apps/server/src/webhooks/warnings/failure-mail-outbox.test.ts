import { createTestClock, findFreePort, type TestClock } from "@bikeshare/test-kit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { type SmtpServer, type SmtpServerOptions, startSmtpServer } from "../../../test/servers/smtp-server.ts";
import { until } from "../../../test/until.ts";
import { createFragileDatabase } from "../../../test/webhooks/fragile-database.ts";
import { createIds } from "../../ids.ts";
import { createMailer, type Mail } from "../../outbound/mail/mailer.ts";
import type { MailOutbox, MailOutcome } from "../../outbound/mail/outbox.ts";
import { createPartner } from "../../partners/service.ts";
import { statement } from "../../storage/db/statement.ts";
import { releaseUnits, setAsideUnits } from "../../storage/set-aside/service.ts";
import { MAX_CRASHES } from "../../storage/set-aside/work.rules.ts";
import { claimMail, insertMails } from "./failure-mail-queries.ts";
import { type MailOutboxOptions, startMailOutbox } from "./failure-mail.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let database: TestDatabase;
let clock: TestClock;
const open: { close(): Promise<void> }[] = [];
const logged: [message: string, detail: { readonly err?: unknown }][] = [];
const outcomes: MailOutcome[] = [];

beforeEach(async () => {
  database = await createTestDatabase();
  clock = createTestClock();
  logged.length = outcomes.length = 0;
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
  await database.close();
});

async function serve(options?: SmtpServerOptions, port?: number): Promise<SmtpServer> {
  const server = await startSmtpServer(options, port);
  open.push(server);
  return server;
}

/**
 * Starts the outbox of one process.
 * @param port the port of its SMTP server; undefined: it has no SMTP server
 */
function outbox(port: number | undefined, changes: Partial<MailOutboxOptions> = {}): MailOutbox {
  const smtpUrl = port === undefined ? undefined : `smtp://127.0.0.1:${port}`;
  const made = startMailOutbox({
    db: database.db,
    clock,
    systems: () => Promise.resolve([database.systemId]),
    mailer: createMailer(smtpUrl, { from: "noreply@bikes.example" }),
    logger: { warn: (detail, message) => void logged.push([message, detail]) },
    onError: (error) => void logged.push(["round failed", { err: error }]),
    observe: (outcome) => void outcomes.push(outcome),
    ...changes,
  });
  open.push(made);
  return made;
}

const rows = <Row>(sql: string, ...values: unknown[]) =>
  database.db.query<Row>(statement("", sql), [database.systemId, ...values]);

/**
 * Creates a partner and its endpoint.
 * @returns the endpoint's id
 */
async function endpoint(email: string | null = "ops@partner.example"): Promise<string> {
  const context = { db: database.db, clock, ids: createIds(clock), actor: "test" };
  const { id: partnerId } = await createPartner(context, database.systemId, `Partner ${context.ids.next("name")}`);
  const id = partnerId.replace("partner", "endpoint");
  await rows(
    `insert into webhook_endpoints (system_id, id, partner_id, tag, url, events, email, status, created_at, updated_at)
     values ($1, $2, $3, $4, 'https://partner.example/', '{ride.started}', $5, 'active', now(), now())`,
    id,
    partnerId,
    id.slice(-6),
    email,
  );
  return id;
}

async function note(endpointId: string, id = "mail_1"): Promise<void> {
  const mail = { id, endpoint_id: endpointId, subject: "Webhooks are failing", body: "Since noon.\n" };
  await database.db.transaction((tx) => insertMails(tx, database.systemId, new Date(clock()), [mail]));
}

const waiting = async () =>
  (await rows<{ id: string }>("select id from webhook_mails where system_id = $1")).map(({ id }) => id);
const messageIds = ({ mails }: SmtpServer) => mails.map(({ data }) => /^Message-ID: <(.*)>\r$/m.exec(data)?.[1]);

test("a mail that was noted is sent to the endpoint's address, once", async () => {
  const server = await serve();
  await note(await endpoint());
  const { runOnce } = outbox(server.port);
  await runOnce();
  await runOnce();
  expect(server.mails).toHaveLength(1);
  expect(server.mails[0]).toMatchObject({ from: "<noreply@bikes.example>", to: ["<ops@partner.example>"] });
  expect(server.mails[0]?.data).toContain("Since noon.");
  expect([outcomes, await waiting(), logged]).toEqual([["sent"], [], []]);
});

test("what is noted in a transaction that does not commit is not sent", async () => {
  const server = await serve();
  const mail = { id: "mail_1", endpoint_id: await endpoint(), subject: "s", body: "b" };
  const undone = database.db.transaction(async (tx) => {
    await insertMails(tx, database.systemId, new Date(clock()), [mail]);
    throw new Error("undone");
  });
  await expect(undone).rejects.toThrow("undone");
  await outbox(server.port).runOnce();
  expect(server.mails).toEqual([]);
});

test("the address is the one that counts when the mail goes", async () => {
  const server = await serve();
  const moved = await endpoint("old@partner.example");
  const silenced = await endpoint();
  const removed = await endpoint();
  for (const id of [moved, silenced, removed]) await note(id, `mail_${id}`);
  await rows("update webhook_endpoints set email = 'new@partner.example' where system_id = $1 and id = $2", moved);
  await rows("update webhook_endpoints set email = null where system_id = $1 and id = $2", silenced);
  await rows(
    `update webhook_endpoints set status = 'paused', pause_reason = 'removed', events = '{}', paused_at = now()
     where system_id = $1 and id = $2`,
    removed,
  );
  await outbox(server.port).runOnce();
  expect(server.mails.map(({ to }) => to)).toEqual([["<new@partner.example>"]]);
  expect(outcomes.toSorted()).toEqual(["sent", "unaddressed", "unaddressed"]);
  expect(await waiting()).toEqual([]);
  expect(logged.map(([message]) => message)).toEqual([
    "a mail to a partner has no address any more; given up",
    "a mail to a partner has no address any more; given up",
  ]);
});

describe("while the SMTP server is away", () => {
  // Uses a port that the operating system assigns to nobody, so that nothing else takes it while the server is away.
  test("a mail is tried again after 1, 2, 4 … minutes, at last every hour, and goes when the server is back", async () => {
    const port = await findFreePort();
    await note(await endpoint());
    const { runOnce } = outbox(port);
    const waits: number[] = [];
    for (const minutes of [1, 2, 4, 8, 16, 32, 60, 60]) {
      await runOnce();
      const tries = outcomes.length;
      clock.advance(minutes * MINUTE - 1);
      await runOnce();
      if (outcomes.length === tries) waits.push(minutes);
      clock.advance(1);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    expect(outcomes).toEqual(waits.map(() => "postponed"));
    const server = await serve({}, port);
    await runOnce();
    expect(messageIds(server)).toEqual(["mail_1@bikes.example"]);
    expect(await waiting()).toEqual([]);
  });

  test("a mail is given up after a day, and the log has what it says", async () => {
    const port = await findFreePort();
    await note(await endpoint());
    const { runOnce } = outbox(port);
    for (let minutes = 0; minutes < 24 * 60; minutes += 30) {
      await runOnce();
      clock.advance(30 * MINUTE);
    }
    expect(await waiting()).toEqual(["mail_1"]);
    expect(outcomes.length).toBeGreaterThan(20);
    clock.advance(HOUR);
    await runOnce();
    expect(await waiting()).toEqual([]);
    expect(outcomes.filter((outcome) => outcome !== "postponed")).toEqual(["expired"]);
    expect(logged.at(-1)).toEqual([
      "a mail to a partner was not sent within a day; given up",
      expect.objectContaining({ mailId: "mail_1", mail: "Since noon.\n" }),
    ]);
  });

  test("a mail that nobody was there to send for days has its try all the same", async () => {
    const server = await serve();
    await note(await endpoint());
    clock.advance(72 * HOUR);
    await outbox(server.port).runOnce();
    expect([server.mails.length, outcomes]).toEqual([1, ["sent"]]);
  });
});

describe("a server that answers", () => {
  test("5xx to the recipient is not asked again, and the log has why and what was to be said", async () => {
    const server = await serve({ answers: { RCPT: "550 no such box" } });
    await note(await endpoint());
    const { runOnce } = outbox(server.port);
    await runOnce();
    clock.advance(2 * HOUR);
    await runOnce();
    expect(server.commands.filter((line) => line.startsWith("RCPT"))).toHaveLength(1);
    expect([outcomes, await waiting()]).toEqual([["refused"], []]);
    expect(logged).toEqual([
      ["a mail to a partner was refused; given up", expect.objectContaining({ mail: "Since noon.\n", attempts: 1 })],
    ]);
    expect(String(logged.map(([, detail]) => ("err" in detail ? detail.err : "")))).toContain("550 no such box");
  });

  test("4xx is asked again later, and then takes the mail", async () => {
    const answers: Record<string, string> = { RCPT: "450 come back later" };
    const server = await serve({ answers });
    await note(await endpoint());
    const { runOnce } = outbox(server.port);
    await runOnce();
    expect([outcomes, await waiting()]).toEqual([["postponed"], ["mail_1"]]);
    delete answers["RCPT"];
    clock.advance(MINUTE);
    await runOnce();
    expect([server.mails.length, outcomes, await waiting()]).toEqual([1, ["postponed", "sent"], []]);
  });

  test("rejected for one partner does not hold up another's mail", async () => {
    const server = await serve();
    await note(await endpoint("not an address"), "mail_1");
    await note(await endpoint(), "mail_2");
    await outbox(server.port).runOnce();
    expect(messageIds(server)).toEqual(["mail_2@bikes.example"]);
    expect(outcomes).toEqual(["refused", "sent"]);
  });
});

describe("several processes", () => {
  test("send each mail once", async () => {
    const server = await serve();
    const ids = Array.from({ length: 30 }, (_, index) => `mail_${index + 10}`);
    const id = await endpoint();
    for (const mail of ids) await note(id, mail);
    const outboxes = Array.from({ length: 4 }, () => outbox(server.port));
    await Promise.all(outboxes.map(({ runOnce }) => runOnce()));
    expect(server.mails).toHaveLength(ids.length);
    expect(new Set(messageIds(server))).toEqual(new Set(ids.map((mail) => `${mail}@bikes.example`)));
    expect(await waiting()).toEqual([]);
  });

  test("take another mail, without waiting, while one is being claimed; that one is the claimer's", async () => {
    const server = await serve();
    const id = await endpoint();
    await note(id, "mail_1");
    clock.advance(1);
    await note(id, "mail_2");
    const again = { first: MINUTE, most: HOUR };
    const undo = new Error("so that the claim is as if it had never been");
    const claiming = database.db.transaction(async (tx) => {
      expect(await claimMail(tx, database.systemId, new Date(clock()), again)).toMatchObject({ id: "mail_1" });
      const other = outbox(server.port);
      await other.runOnce();
      await other.close();
      expect(messageIds(server)).toEqual(["mail_2@bikes.example"]);
      throw undo;
    });
    await expect(claiming).rejects.toBe(undo);
    await outbox(server.port).runOnce();
    expect(messageIds(server)).toEqual(["mail_2@bikes.example", "mail_1@bikes.example"]);
  });

  test("do not wait for one that is busy sending; what it leaves when it ends is sent again under the same Message-ID", async () => {
    const hung = await serve({ hangsAt: "end of data" });
    const server = await serve();
    const id = await endpoint();
    await note(id, "mail_1");
    // Acts like a process that is killed after it has sent the mail and before it has written that down.
    const stop = new AbortController();
    const real = createMailer(`smtp://127.0.0.1:${hung.port}`, { from: "noreply@bikes.example" });
    const dying = outbox(hung.port, { mailer: { send: async (mail) => real?.send(mail, stop.signal) } });
    const round = dying.runOnce();
    await until(() => hung.mails.length === 1);
    clock.advance(1);
    await note(id, "mail_2");
    const other = outbox(server.port);
    await other.runOnce();
    expect(messageIds(server)).toEqual(["mail_2@bikes.example"]);
    stop.abort();
    await round;
    await dying.close();
    clock.advance(MINUTE);
    await other.runOnce();
    expect(messageIds(server)).toEqual(["mail_2@bikes.example", "mail_1@bikes.example"]);
    expect(messageIds(hung)).toEqual(["mail_1@bikes.example"]);
    expect(await waiting()).toEqual([]);
  });
});

test("a mail that ends each process that sends it is set aside after three, in the list, and the others go; released, it goes", async () => {
  const server = await serve();
  const id = await endpoint();
  await note(id, "mail_1");
  const real = createMailer(`smtp://127.0.0.1:${server.port}`, { from: "noreply@bikes.example" });
  const { systemId } = database;
  for (let death = 1; death <= MAX_CRASHES; death++) {
    const db = createFragileDatabase(database.db);
    const send = (mail: Mail) => {
      if (mail.id === "mail_1") db.die();
      return real?.send(mail) ?? Promise.resolve();
    };
    const dying = outbox(server.port, { db, mailer: { send } });
    await dying.runOnce();
    await dying.close();
    // Lets the minute pass after which the try, or its process, counts as ended.
    await rows("update work_runs set ends_by = now() where system_id = $1");
    clock.advance(HOUR);
  }
  const sentByTheDying = server.mails.length;
  await note(id, "mail_2");
  const { runOnce } = outbox(server.port);
  await runOnce();
  expect(messageIds(server).slice(sentByTheDying)).toEqual(["mail_2@bikes.example"]);
  expect(await setAsideUnits(database.db, systemId)).toMatchObject([
    { work: "send-mail", unit: "mail_1", crashes: MAX_CRASHES, next_try_at: null },
  ]);
  expect(logged.map(([message, { err }]) => `${message}: ${String(err)}`).join("\n")).toContain("set-aside list");

  const context = { db: database.db, clock, ids: createIds(clock), actor: "test" };
  await releaseUnits(context, systemId, "mail_1");
  clock.advance(HOUR);
  await runOnce();
  expect(messageIds(server).slice(sentByTheDying)).toEqual(["mail_2@bikes.example", "mail_1@bikes.example"]);
  expect([await waiting(), await setAsideUnits(database.db, systemId)]).toEqual([[], []]);
});

test("a mail that is set aside is given up after a day like any other, and not listed any more", async () => {
  await note(await endpoint());
  await rows(
    `insert into work_failures (system_id, work, unit, crashes, message) values ($1, 'send-mail', 'mail_1', 3, 'it ended')`,
  );
  const server = await serve();
  const { runOnce } = outbox(server.port);
  await runOnce();
  expect(await waiting()).toEqual(["mail_1"]);
  clock.advance(25 * HOUR);
  await runOnce();
  expect([await waiting(), await setAsideUnits(database.db, database.systemId)]).toEqual([[], []]);
  expect(server.mails).toEqual([]);
});

test("a process that stops gives up a try that hangs, and the mail stays for the next", async () => {
  const hung = await serve({ hangsAt: "greeting" });
  await note(await endpoint());
  const stopping = outbox(hung.port);
  const round = stopping.runOnce();
  await until(() => hung.connections() === 1);
  await stopping.close();
  await round;
  expect([outcomes, await waiting()]).toEqual([["postponed"], ["mail_1"]]);
});

test("without an SMTP server nothing is taken from those that have one, and what is left goes after a day", async () => {
  await note(await endpoint());
  const { runOnce } = outbox(undefined);
  await runOnce();
  expect([outcomes, await waiting()]).toEqual([[], ["mail_1"]]);
  clock.advance(24 * HOUR);
  await runOnce();
  expect([outcomes, await waiting()]).toEqual([["expired"], []]);
});

test("one system's failure does not keep the others' mails back, and is logged", async () => {
  const server = await serve();
  await note(await endpoint());
  const systems = () => Promise.resolve(["\u0000no system", database.systemId]);
  await outbox(server.port, { systems }).runOnce();
  expect(server.mails).toHaveLength(1);
  expect(new Set(logged.map(([message]) => message))).toEqual(new Set(["round failed"]));
});
