import { chmod, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { makeDatabaseDirectory } from "@bikeshare/test-kit";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Database, openDatabase } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import { findServerUse } from "../database-health/service.ts";
import { judgeRole } from "./doctor.rules.ts";
import { findRoleRights } from "./queries.ts";

const NEEDED_BYTES = 256 * 1024 ** 2;

let directory: string;
let server: Awaited<ReturnType<typeof openEmbeddedPostgres>>;
/** A connection as the role with which the server was set up. */
let asFirstRole: Database;

beforeAll(async () => {
  // Uses a server of its own, because roles belong to a whole server.
  directory = await makeDatabaseDirectory("bikeshare-role-", NEEDED_BYTES);
  // When root runs the tests, PostgreSQL runs under another account, which must be able to enter the directory.
  await chmod(directory, 0o711);
  server = await openEmbeddedPostgres({ dataDir: directory, log: () => undefined, isDurable: false });
  const files = await readdir(directory, { recursive: true });
  const file = join(directory, files.find((name) => name.endsWith("connection.json")) ?? "");
  const { superuserPassword } = JSON.parse(await readFile(file, "utf8")) as { superuserPassword: string };
  const url = new URL(server.connectionString);
  [url.username, url.password] = ["postgres", superuserPassword];
  asFirstRole = openDatabase({ connectionString: url.href });
});
afterAll(async () => {
  await asFirstRole.close();
  await server.close();
  await rm(directory, { recursive: true, force: true });
});

const run = (text: string) => asFirstRole.query(statement("", text));

describe("doctor", () => {
  it.each([
    ["superuser createrole bypassrls", "superuser, createrole, bypassrls"],
    ["superuser", "superuser"],
    ["createrole", "createrole"],
    ["bypassrls", "bypassrls"],
  ])("warns of a role that is %s, and its advice leaves nothing to warn of", async (rights, named) => {
    const db = openDatabase({ connectionString: server.connectionString });
    onTestFinished(() => db.close());
    const judged = async () => judgeRole(await findRoleRights(db));
    expect(await judged()).toMatchObject({ check: "database role", status: "ok" });
    await run(`alter role bikeshare ${rights}`);
    const found = await judged();
    expect(found.status).toBe("warning");
    expect(found.detail).toContain(`(${named})`);
    await run(found.fix?.split("As another superuser: ")[1] ?? "");
    expect(await judged()).toMatchObject({ status: "ok" });
  });

  it("counts the connections of all roles, though an ordinary role sees little of them", async () => {
    await run("create role plain login password 'plain'");
    const url = new URL(server.connectionString);
    [url.username, url.password] = ["plain", "plain"];
    const db = openDatabase({ connectionString: url.href, maxConnections: 1 });
    onTestFinished(() => db.close());
    const clients = "select count(*)::int as n from pg_stat_activity where backend_type = 'client backend'";
    const { connections } = await findServerUse(db);
    const [seen] = await db.query<{ n: number }>(statement("", clients));
    const [all] = await asFirstRole.query<{ n: number }>(statement("", clients));
    expect(seen?.n).toBeLessThan(all?.n ?? 0);
    expect(connections).toBe(all?.n);
  });

  it("does not advise what PostgreSQL refuses: to take the rights of the role that it was set up with", async () => {
    const found = judgeRole(await findRoleRights(asFirstRole));
    expect(found.status).toBe("warning");
    expect(found.fix).toMatch(/pg_dump --no-owner/);
    expect(found.fix).not.toMatch(/alter role/);
    await expect(run("alter role postgres nosuperuser")).rejects.toThrow("permission denied to alter role");
  });
});
