import { consoleContract, type ShownAct } from "@bikeshare/contract/console";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
import { until } from "../../test/until.ts";
import { addSystem } from "../city/systems/service.ts";
import { insertAct } from "../partners/audit/queries.ts";
import { searchActs } from "../partners/audit/service.ts";
import { createPartner } from "../partners/service.ts";
import { statement } from "../storage/db/statement.ts";

let app: TestApp;
let member: SignedIn;
let operator: SignedIn;
let otherPartner: string;
let otherKey: string;

const { partnerAudit, systemAudit } = consoleContract;

beforeAll(async () => {
  app = await startTestApp();
  member = await signIn(app, { partnerId: app.partnerId });
  operator = await signIn(app, { partnerId: null, role: "viewer" });
  otherPartner = (await createPartner({ ...app, actor: "cli:root" }, app.systemId, "Other")).id;
  otherKey = (await app.issue({ partnerId: otherPartner })).id;
});
afterAll(() => app.close());

const system = () => `/console/v1/systems/${app.systemId}`;
const partner = (id = app.partnerId) => `${system()}/partners/${id}`;

async function read(who: SignedIn, path: string) {
  const response = await who.call("GET", path);
  expect(response.status, path).toBe(200);
  return systemAudit.list.responses[200].parse(await response.json());
}

/** Reads all pages of the operator's log. */
async function walk(query: Readonly<Record<string, string>>): Promise<ShownAct[]> {
  const found: ShownAct[] = [];
  let cursor: string | undefined;
  do {
    const search = new URLSearchParams({ ...query, limit: "2", ...(cursor !== undefined && { cursor }) });
    const page = await read(operator, `${system()}/audit?${search.toString()}`);
    found.push(...page.data);
    cursor = page.next_cursor;
  } while (cursor !== undefined);
  return found;
}

it("a partner sees what was done to it and by its people, and nothing of others", async () => {
  const own = await app.issue();
  await member.call("POST", `${partner()}/keys/${own.id}/revoke`, {});
  const { data } = await read(member, `${partner()}/audit`);
  expect(data.map(({ action, subject, actor_name }) => [action, subject, actor_name])).toContainEqual([
    "key.revoked",
    own.id,
    member.personId,
  ]);
  expect(data.map(({ action }) => action)).toEqual(expect.arrayContaining(["partner.created", "key.issued"]));
  expect(new Set(data.map(({ partner_id }) => partner_id))).toEqual(new Set([app.partnerId]));
  const { data: elsewhere } = await read(member, `${partner()}/audit?subject=${otherKey}`);
  expect(elsewhere).toEqual([]);
  expect((await member.call("GET", `${partner(otherPartner)}/audit`)).status).toBe(404);
  expect((await member.call("GET", `${system()}/audit`)).status).toBe(404);
});

it("a partner sees who of the operator looked at its pages, and no account of the operator's machines", async () => {
  await operator.call("GET", `${partner(otherPartner)}/keys`);
  const reader = await signIn(app, { partnerId: otherPartner, role: "viewer" });
  const { data } = partnerAudit.list.responses[200].parse(await read(reader, `${partner(otherPartner)}/audit`));
  expect(data.find(({ action }) => action === "console.partner_viewed")).toMatchObject({
    actor: operator.actor,
    actor_name: operator.personId,
    subject: otherPartner,
  });
  const created = data.find(({ action }) => action === "partner.created");
  expect(created).toMatchObject({ actor: "cli", subject_name: created?.detail["name"] });
});

it("the requests that a partner's page sends at once are one visit in its audit log", async () => {
  const visitor = await signIn(app, { partnerId: null, role: "viewer" });
  const waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  // A trigger holds whoever writes into the log, with what their statement has read before.
  await app.db.transaction((tx) =>
    tx.run(`create function wait_for_lock() returns trigger language plpgsql as
              'begin perform pg_advisory_xact_lock(1); return new; end';
            create trigger waiting before insert on audit_log for each row execute function wait_for_lock()`),
  );
  const reading = await app.db.transaction(async (tx) => {
    await tx.query(statement("", "select pg_advisory_xact_lock(1)"));
    const answers = ["keys", "people"].map((page) => visitor.call("GET", `${partner(otherPartner)}/${page}`));
    await until(async () => (await app.db.query(statement("", waiting))).length === 2);
    return { answers: Promise.all(answers) };
  });
  expect((await reading.answers).map(({ status }) => status)).toEqual([200, 200]);
  await app.db.transaction((tx) => tx.run("drop function wait_for_lock cascade"));
  const acts = await walk({ actor: visitor.actor, action: "console.partner_viewed" });
  expect(acts.map(({ subject }) => subject)).toEqual([otherPartner]);
});

it("the operator finds acts by actor, mail address, action, subject, partner and time, page by page", async () => {
  const all = await walk({});
  expect(all.length).toBeGreaterThan(4);
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  expect(all.map(({ at, id }) => `${at} ${id}`)).toEqual(
    all
      .map(({ at, id }) => `${at} ${id}`)
      .sort()
      .reverse(),
  );
  const matching = (test: (act: ShownAct) => boolean) => all.filter(test).map(({ id }) => id);
  const ids = async (query: Readonly<Record<string, string>>) => (await walk(query)).map(({ id }) => id);
  const own = matching(({ actor }) => actor === member.actor);
  expect(own.length).toBeGreaterThan(0);
  expect(await ids({ actor: member.actor })).toEqual(own);
  expect(await ids({ actor: `${member.personId}@example.com` })).toEqual(own);
  expect(await ids({ actor: "cli" })).toEqual(matching(({ actor }) => actor === "cli:root"));
  expect(await ids({ action: "key.issued" })).toEqual(matching(({ action }) => action === "key.issued"));
  expect(await ids({ subject: otherKey })).toEqual(matching(({ subject }) => subject === otherKey));
  expect(await ids({ partner_id: otherPartner })).toEqual(matching((act) => act.partner_id === otherPartner));
  expect(await ids({ until: all.at(-1)?.at ?? "" })).toEqual([]);
});

it("acts of another system are never shown, and a cursor serves its own list alone", async () => {
  await addSystem({ ...app, actor: "server" }, "elsewhere", "Elsewhere");
  expect((await walk({})).filter(({ subject }) => subject === "elsewhere")).toEqual([]);
  expect((await operator.call("GET", "/console/v1/systems/elsewhere/audit")).status).toBe(404);
  const { next_cursor = "" } = await read(operator, `${system()}/audit?limit=1`);
  for (const path of [`${system()}/audit?actor=cli&cursor=${next_cursor}`, `${system()}/audit?cursor=x`])
    expect((await operator.call("GET", path)).status).toBe(400);
});

it("each filter looks at a bounded number of acts by an index of its own, and says how far it got", async () => {
  const at = new Date(app.clock());
  await app.db.transaction(async (tx) => {
    for (let n = 0; n < 300; n++)
      await insertAct(tx, {
        ...{ systemId: app.systemId, id: `act_bulk_${n}`, at, actor: `cli:${n % 7}`, action: `bulk.${n % 5}` },
        ...{ subject: `subject-${n % 11}`, detail: {} },
      });
  });
  const rare = await searchActs(app, app.systemId, { actor: "cli", action: "bulk.0", limit: 50, scanLimit: 10 });
  expect(rare.searchedTo).not.toBeNull();
  expect(rare.next).not.toBeNull();
  await app.db.query(statement("", "analyze audit_log"));
  const plans = await plansOf([
    { actor: "cli:1" },
    { action: "bulk.1" },
    { subject: "subject-1" },
    { partnerId: "p" },
    {},
  ]);
  // PostgreSQL names the partitions' indexes after their columns.
  const indexes = [
    "system_id_actor_at",
    "system_id_action_at",
    "system_id_subject_at",
    "system_id_partner_id_at",
    "system_id_at",
  ];
  for (const [n, plan] of plans.entries()) {
    expect(plan).toContain(indexes[n]);
    expect(plan).not.toContain("Seq Scan on audit_log");
  }
});

/** Returns PostgreSQL's plan for each search, on a table large enough for indexes to matter. */
async function plansOf(searches: readonly object[]): Promise<string[]> {
  const plans: string[] = [];
  for (const search of searches) {
    await app.db.transaction(async (tx) => {
      await tx.run("set local enable_seqscan = off");
      await tx.run("set local enable_sort = off");
      const explaining = {
        transaction: tx.transaction,
        query: async <Row>({ text }: { readonly text: string }, values: readonly unknown[] = []) => {
          const rows = await tx.query<{ "QUERY PLAN": string }>(statement("", `explain ${text}`), values);
          plans.push(rows.map((row) => row["QUERY PLAN"]).join("\n"));
          return [{ scanned: 0, last_at: null, last_id: null, id: null }] as Row[];
        },
      };
      await searchActs({ ...app, db: explaining }, app.systemId, { ...search, limit: 50 });
    });
  }
  return plans;
}
