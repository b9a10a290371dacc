import { expect, it } from "vitest";
import { createTestDatabase } from "../../test/database.ts";
import { createConcerns } from "../health/conditions/concerns.ts";
import { createConditions } from "../health/conditions/conditions.ts";
import { statement } from "../storage/db/statement.ts";
import { watchForWorkers } from "./worker-watch.ts";

it("a process without a worker beside it says so in the log and in its readiness, until one comes", async () => {
  const database = await createTestDatabase();
  const lines: [string, string][] = [];
  const note = (level: string) => (_detail: object, message: string) => void lines.push([level, message]);
  const conditions = createConditions({
    monotonic: () => 0,
    log: { info: note("info"), warn: note("warn"), error: note("error") },
  });
  const concerns = createConcerns();
  const watch = watchForWorkers(database.db, { conditions, concerns });
  await watch.runOnce();
  await watch.runOnce();
  expect(concerns.list()).toEqual([expect.stringMatching(/^no worker is running: .+ Start `serve --role worker`$/)]);
  await database.db.query(
    statement("", "insert into webhook_workers (system_id, worker, alive_until) values ('main', 'w', now() + '1 min')"),
  );
  await watch.runOnce();
  expect(concerns.list()).toEqual([]);
  expect(lines).toEqual([
    ["warn", expect.stringMatching(/^no worker is running/)],
    ["info", "a worker is running"],
  ]);
  await watch.close();
  await database.close();
});
