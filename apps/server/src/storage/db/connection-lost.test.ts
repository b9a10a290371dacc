import { expect, test } from "vitest";
import { createTestDatabase } from "../../../test/database.ts";
import { startDatabaseProxy } from "../../../test/servers/database-proxy.ts";
import { openDatabase, ping } from "./database.ts";
import { isUnavailable } from "./errors.ts";

test("an idle connection that breaks is reported as an unavailable database, without the connection itself", async () => {
  const database = await createTestDatabase();
  const proxy = await startDatabaseProxy(database.db.connectionString);
  const lost = Promise.withResolvers<Error>();
  const db = openDatabase({ connectionString: proxy.connectionString, onConnectionLost: lost.resolve });
  await ping(db);
  await proxy.cut();
  const error = await lost.promise;
  expect([isUnavailable(error), Object.keys(error)]).toEqual([true, ["name"]]);
  await db.close();
  await proxy.close();
  await database.close();
});

test("a machine that Citus has lost is an unavailable database, and no other internal error is", () => {
  const internal = (routine: string) => Object.assign(new Error("failure on connection"), { code: "XX000", routine });
  expect(isUnavailable(internal("MarkRemoteTransactionFailed"))).toBe(true);
  expect(isUnavailable(internal("ExecProcNode"))).toBe(false);
});
