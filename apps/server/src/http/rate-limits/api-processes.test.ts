import { expect, it } from "vitest";
import { createTestDatabase } from "../../../test/database.ts";
import { until } from "../../../test/until.ts";
import { statement } from "../../storage/db/statement.ts";
import { countApiProcesses, joinApiProcesses } from "./service.ts";

it("each process knows how many there are: those that join, that leave, and that were killed", async () => {
  const database = await createTestDatabase();
  const changes: number[] = [];
  const join = (process: string, onChange: (count: number) => void = () => undefined, quietMs = 0) =>
    joinApiProcesses(database.db, {
      process,
      heartbeatIntervalMs: 10,
      quietMs,
      onChange,
      onError: (error) => {
        throw error;
      },
    });
  const one = await join("one", (count) => void changes.push(count));
  expect(one.count()).toBe(1);
  const other = await join("other");
  expect(other.count()).toBe(2);
  await until(() => one.count() === 2);
  await other.close();
  await until(() => one.count() === 1);
  const insert = (left: string) =>
    database.db.query(
      statement(
        "",
        `insert into api_processes (process, alive_until) values ('killed ${left}', now() + interval '${left}')`,
      ),
    );
  await insert("200 ms");
  await until(() => one.count() === 2);
  await until(() => one.count() === 1);
  expect(changes).toEqual([2, 1, 2, 1]);
  // A process that was killed right before another one starts is counted, but not reported by `onChange`.
  await insert("300 ms");
  const spoken: number[] = [];
  const restarted = await join("restarted", (count) => void spoken.push(count), 60_000);
  expect(restarted.count()).toBe(3);
  await until(() => restarted.count() === 2);
  expect(spoken).toEqual([]);
  // `countApiProcesses` leaves out a process whose heartbeat is over 5 seconds old.
  expect(await countApiProcesses(database.db)).toBe(2);
  await insert("4 s");
  expect(await countApiProcesses(database.db)).toBe(2);
  await restarted.close();
  await one.close();
  await database.close();
});
