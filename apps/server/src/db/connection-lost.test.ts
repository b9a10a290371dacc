import { expect, test } from "vitest";
import { createTestDatabase } from "../../test/database.ts";
import { startDatabaseProxy } from "../../test/servers/database-proxy.ts";
import { openDatabase } from "./database.ts";
import { isUnavailable } from "./errors.ts";
import { ping } from "./ping.ts";

test("a resting connection that breaks is told of as a database that cannot be reached, without the connection", async () => {
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
