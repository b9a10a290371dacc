import { createHash } from "node:crypto";
import { ServiceError } from "@bikeshare/rules";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { NetworkList } from "../src/outbound/addresses/address-guard.ts";
import { issueKey, keysOf, MAX_OVERLAP_MS, revokeKey, rotateKey } from "../src/partners/keys/service.ts";
import { openDatabase } from "../src/storage/db/database.ts";
import { requireNotifications } from "../src/storage/db/listener.ts";
import { statement } from "../src/storage/db/statement.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { buildAnother, type BuiltApp, keyContext } from "./built-app.ts";
import { expectWithin } from "./expect-within.ts";
import { startDatabaseProxy } from "./servers/database-proxy.ts";
import { until } from "./until.ts";

let app: TestApp;
/** A second process on the same database. */
let other: BuiltApp;

beforeAll(async () => {
  app = await startTestApp();
  other = await buildAnother(app);
});

beforeEach(() => app.clock.advance(61_000));

afterAll(async () => {
  await other.close();
  await app.close();
});

const status = async (url: string, key: string) => {
  const response = await fetch(`${url}/v1/me`, { headers: { authorization: `Bearer ${key}` } });
  await response.arrayBuffer();
  return response.status;
};

/** Revokes a key, and waits until a process rejects it. @returns the milliseconds in between */
async function revokeFor(url: string, { id, key }: { readonly id: string; readonly key: string }): Promise<number> {
  await revokeKey(keyContext(app), app.systemId, id);
  return until(async () => (await status(url, key)) === 401);
}

async function actsOn(subject: string) {
  return app.db.query<{ action: string; actor: string; at: Date; detail: Record<string, unknown> }>(
    statement("", "select action, actor, at, detail from audit_log where subject = $1 order by id"),
    [subject],
  );
}

/** How many processes hear of changes, this database's three connections that listen. */
async function listeners(): Promise<number> {
  const [row] = await app.db.query<{ n: number }>(
    statement(
      "",
      `select count(*)::int as n from pg_stat_activity
       where datname = current_database() and state = 'idle' and query ilike 'listen %'`,
    ),
  );
  return row?.n ?? 0;
}

describe("a key that was issued", () => {
  it("is kept as SHA-256 and its last four characters only", async () => {
    const { id, key } = await app.issue();
    const [row] = await app.db.query<{ text: string; hash: Buffer; last4: string }>(
      statement("", "select keys::text as text, hash, last4 from keys where id = $1"),
      [id],
    );
    expect(row!.hash.equals(createHash("sha256").update(key).digest())).toBe(true);
    expect(row!.last4).toBe(key.slice(-4));
    expect(row!.text).not.toContain(key.slice(9, 30));
    const [kept] = await app.db.query<{ found: boolean }>(
      statement("", "select bool_or(audit_log::text like $1) as found from audit_log"),
      [`%${key}%`],
    );
    expect(kept).toEqual({ found: false });
  });

  it("is in the audit log with its partner, scopes, expiry and rate", async () => {
    const expiresAt = new Date(app.clock() + 1000);
    const { id } = await app.issue({ scopes: ["rides:read"], rateLimit: 7, expiresAt });
    expect(await actsOn(id)).toEqual([
      {
        action: "key.issued",
        actor: "test",
        at: new Date(app.clock()),
        detail: {
          partner_id: app.partnerId,
          scopes: ["rides:read"],
          rate_limit: 7,
          expires_at: expiresAt.toISOString(),
        },
      },
    ]);
  });

  it("tells its holder of itself", async () => {
    const { id, key } = await app.issue({ scopes: ["rides:read", "bikes:read"], rateLimit: 7 });
    expect(await (await app.get("/v1/me", { key })).json()).toEqual({
      key_id: id,
      partner: { id: app.partnerId, name: "Journey Planner" },
      scopes: ["rides:read", "bikes:read"],
      expires_at: null,
      rate_limit: { limit: 7, remaining: 6, reset_seconds: 60 },
      reservations: { limit: 50, active: 0 },
    });
  });

  it("of the operator does not reach the partners' interface", async () => {
    const { key } = await app.issue({ partnerId: null, scopes: [] });
    expect(key).toMatch(/^bss_operator_/);
    const response = await app.get("/v1/me", { key });
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toBe(`Bearer error="insufficient_scope"`);
  });

  it("expires at its instant, not before", async () => {
    const { key } = await app.issue({ expiresAt: new Date(app.clock() + 5) });
    app.clock.advance(4);
    expect(await status(app.url, key)).toBe(200);
    app.clock.advance(1);
    expect(await status(app.url, key)).toBe(401);
  });
});

describe("revoking", () => {
  it("holds on another process within a second, though that one keeps the key in memory", async () => {
    await expectWithin(1000, async () => {
      const issued = await app.issue();
      for (const url of [app.url, other.url, other.url]) expect(await status(url, issued.key)).toBe(200);
      return revokeFor(other.url, issued);
    });
  });

  it("holds within a second while the connections that tell of it are cut", async () => {
    await expectWithin(1000, async () => {
      const issued = await app.issue();
      // Waits until the process accepts the key, because it may still be reconnecting after an earlier attempt.
      await until(async () => (await status(other.url, issued.key)) === 200);
      await app.db.query(
        statement(
          "",
          "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
        ),
      );
      const taken = await revokeFor(other.url, issued);
      // After both processes have reconnected, the key is still rejected, although the other process had it in memory.
      await until(async () => (await listeners()) === 2);
      for (let repeat = 0; repeat < 20; repeat++) expect(await status(other.url, issued.key)).toBe(401);
      return taken;
    });
    await expectWithin(1000, async () => {
      const next = await app.issue();
      expect(await status(other.url, next.key)).toBe(200);
      return revokeFor(other.url, next);
    });
  });

  it("holds within a second when the connection that tells of it is dead without saying so", async () => {
    await expectWithin(1000, async () => {
      const proxy = await startDatabaseProxy(app.db.connectionString);
      const db = openDatabase({ connectionString: proxy.connectionString });
      // The first connection that an app opens is the one for notifications.
      const distant = await buildAnother({ ...app, db });
      const issued = await app.issue();
      expect(await status(distant.url, issued.key)).toBe(200);
      await until(async () => (await listeners()) === 3);
      expect(await status(distant.url, issued.key)).toBe(200);
      proxy.freeze(0);
      const taken = await revokeFor(distant.url, issued);
      await proxy.close();
      await distant.close();
      await db.close();
      await until(async () => (await listeners()) === 2);
      return taken;
    });
  });

  it("holds within a second when notifications stop to arrive over a connection that is well otherwise", async () => {
    await expectWithin(1000, async () => {
      const proxy = await startDatabaseProxy(app.db.connectionString);
      const db = openDatabase({ connectionString: proxy.connectionString });
      const distant = await buildAnother({ ...app, db });
      const issued = await app.issue();
      await until(async () => (await listeners()) === 3);
      for (let repeat = 0; repeat < 3; repeat++) expect(await status(distant.url, issued.key)).toBe(200);
      proxy.dropNotifications();
      const taken = await revokeFor(distant.url, issued);
      // Valid keys still work in this state: the service reads each key from the database.
      const next = await app.issue();
      expect(await status(distant.url, next.key)).toBe(200);
      await distant.close();
      await db.close();
      await proxy.close();
      await until(async () => (await listeners()) === 2);
      return taken;
    });
  });

  it("cannot be relied on through a pooler by transaction: the service does not start on one, and says why", async () => {
    const options = { connectionString: app.db.connectionString, notifier: app.db };
    await requireNotifications(options);
    const proxy = await startDatabaseProxy(app.db.connectionString);
    proxy.dropNotifications();
    await expect(requireNotifications({ ...options, connectionString: proxy.connectionString }, 1)).rejects.toThrow(
      /^DATABASE_URL leads to .* pooler in transaction mode/,
    );
    await proxy.close();
  });

  it("twice changes nothing the second time, and is in the audit log once", async () => {
    const { id } = await app.issue();
    const first = await revokeKey(keyContext(app), app.systemId, id);
    app.clock.advance(1000);
    expect(await revokeKey(keyContext(app), app.systemId, id)).toEqual(first);
    expect((await actsOn(id)).map(({ action }) => action)).toEqual(["key.issued", "key.revoked"]);
  });

  it("of a key that does not exist, or of another system, is refused", async () => {
    const { id } = await app.issue();
    await expect(revokeKey(keyContext(app), app.systemId, "key_none")).rejects.toThrow(ServiceError);
    await expect(revokeKey(keyContext(app), "elsewhere", id)).rejects.toThrow(ServiceError);
  });
});

describe("rotating", () => {
  it("gives a key with the same partner, scopes, name, expiry and rate; both work for the overlap, then the new one alone", async () => {
    const old = await app.issue({
      scopes: ["rides:read"],
      rateLimit: 9,
      name: "reporting",
      expiresAt: new Date(app.clock() + MAX_OVERLAP_MS * 2),
    });
    const next = await rotateKey(keyContext(app), app.systemId, old.id, 60_000);
    expect(next).toMatchObject({ replaces: old.id, scopes: ["rides:read"], rate_limit: 9, expires_at: old.expires_at });
    const rows = await keysOf(app, app.systemId, app.partnerId);
    expect(rows.find(({ id }) => id === next.id)).toMatchObject({
      name: "reporting",
      partner_id: app.partnerId,
      revoked_at: null,
    });
    expect(rows.find(({ id }) => id === old.id)).toMatchObject({
      rotated_to: next.id,
      revoked_at: next.replaced_key_ends_at,
    });
    app.clock.advance(59_999);
    expect([await status(app.url, old.key), await status(app.url, next.key)]).toEqual([200, 200]);
    app.clock.advance(1);
    expect([await status(app.url, old.key), await status(app.url, next.key)]).toEqual([401, 200]);
    expect((await actsOn(next.id)).map(({ action, detail }) => [action, detail["replaces"]])).toEqual([
      ["key.rotated", old.id],
    ]);
  });

  it("with no overlap ends the old key at once, on every process", async () => {
    await expectWithin(1000, async () => {
      const old = await app.issue();
      expect(await status(other.url, old.key)).toBe(200);
      await rotateKey(keyContext(app), app.systemId, old.id, 0);
      return until(async () => (await status(other.url, old.key)) === 401);
    });
  });

  it("is refused outside 0 h to 30 d, twice, and of a key that no longer works", async () => {
    const old = await app.issue();
    for (const overlap of [-1, MAX_OVERLAP_MS + 1]) {
      await expect(rotateKey(keyContext(app), app.systemId, old.id, overlap)).rejects.toThrow(/between 0 h and 30 d/);
    }
    await rotateKey(keyContext(app), app.systemId, old.id, MAX_OVERLAP_MS);
    await expect(rotateKey(keyContext(app), app.systemId, old.id, 0)).rejects.toThrow(/rotated already/);
    const revoked = await app.issue();
    await revokeKey(keyContext(app), app.systemId, revoked.id);
    await expect(rotateKey(keyContext(app), app.systemId, revoked.id, 0)).rejects.toThrow(/revoked already/);
  });

  it("does not put off a revocation: a rotated key can still be revoked at once", async () => {
    await expectWithin(1000, async () => {
      const old = await app.issue();
      await rotateKey(keyContext(app), app.systemId, old.id, MAX_OVERLAP_MS);
      return revokeFor(app.url, old);
    });
  });
});

it("notes when, for which path and from where a key was last used, and not what was refused", async () => {
  const third = await buildAnother(app, { trustedProxies: new NetworkList(["127.0.0.1"]) });
  const { id, key } = await app.issue({ scopes: ["rides:read"] });
  const get = (path: string) =>
    fetch(third.url + path, {
      headers: { authorization: `Bearer ${key}`, "x-forwarded-proto": "https", "x-forwarded-for": "192.0.2.77" },
    });
  await get("/v1/rides?limit=7");
  app.clock.advance(1000);
  const at = new Date(app.clock());
  await get("/v1/rides/no-such-ride");
  app.clock.advance(1000);
  expect((await get("/v1/stations")).status).toBe(403);
  const second = await app.issue({ scopes: ["rides:read"] });
  const lost = `/v1/${"x".repeat(2000)}?token=secret`;
  const headers = { authorization: `Bearer ${second.key}`, "x-forwarded-proto": "https" };
  expect((await fetch(third.url + lost, { headers })).status).toBe(404);
  await third.close();
  const row = (await keysOf(app, app.systemId)).find((candidate) => candidate.id === id);
  expect(row).toMatchObject({ last_used_at: at, last_used_path: "/v1/rides/:id", last_used_address: "192.0.2.77" });
  const secondRow = (await keysOf(app, app.systemId)).find((candidate) => candidate.id === second.id);
  expect(secondRow).toMatchObject({ last_used_path: "(no such path)" });
});

it("issues nothing without the audit log: both or neither", async () => {
  const before = (await keysOf(app, app.systemId)).length;
  const context = {
    ...keyContext(app),
    ids: { ...app.ids, next: (prefix: string) => (prefix === "act" ? "act_taken" : app.ids.next(prefix)) },
  };
  const input = { systemId: app.systemId, partnerId: app.partnerId, scopes: [] } as const;
  await issueKey(context, input);
  await expect(issueKey(context, input)).rejects.toThrow(/duplicate key/);
  expect(await keysOf(app, app.systemId)).toHaveLength(before + 1);
});
