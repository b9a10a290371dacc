import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { statement } from "../src/storage/db/statement.ts";
import { declaredKinds, readTableKinds } from "../src/storage/distribution/table-kinds.ts";
import { refusedIn } from "../tools/statement-rules.ts";

/*
 * check-statements.ts checks every statement that a test creates: a distributed database must be able to run it. The tests
 * here create all statements in the sources, and show that each kind of forbidden statement is refused.
 */

const SOURCES = join(import.meta.dirname, "../src");
const kinds = declaredKinds("-- system. So.\ncreate table queue (\n-- reference. So.\ncreate table endpoints (");
const refused = (text: string) => refusedIn({ name: "queue.try", text }, kinds);

test("no statement is refused, and what is refused is not made", async () => {
  const files = (await readdir(SOURCES, { recursive: true })).filter((name) => name.endsWith("queries.ts"));
  expect(files.length).toBeGreaterThan(60);
  for (const file of files) await import(join(SOURCES, file));
  expect(() => statement("rides.endAll", "update rides set status = 'completed'")).toThrow(
    'The statement "rides.endAll" updates or deletes rows without naming their system',
  );
  expect((await readTableKinds()).get("rides")).toBe("system");
});

describe("a statement is refused that", () => {
  test.each([
    [
      "changes rows by address alone",
      "with due as (select ctid as address from queue where system_id = $1) update queue q set claim = $2 from due where q.ctid = due.address",
      "with due as (select ctid as address from queue where system_id = $1) update queue q set claim = $2 from due where q.system_id = $1 and q.ctid = due.address",
    ],
    [
      "deletes rows by what another step found",
      "with gone as (delete from queue q using found where q.system_id = any(array[found.system_id]) returning q.id) select count(*) from gone",
      "with gone as (delete from queue q using found where q.system_id = $1 and q.id = found.id returning q.id) select count(*) from gone",
    ],
    [
      "has a parameter behind `on conflict`",
      "insert into queue (system_id, id, due_at) select $1, id, $2 from unnest($3::text[]) as w (id) on conflict (system_id, id) do update set due_at = case when queue.due_at < $4 then excluded.due_at end",
      "insert into queue (system_id, id, due_at) select $1, id, $2 from unnest($3::text[]) as w (id) on conflict (system_id, id) do update set due_at = excluded.due_at",
    ],
    [
      "has a sub-select behind `returning`",
      "insert into queue (system_id, id) select $1, id from unnest($2::text[]) as w (id) on conflict do nothing returning id, case when exists (select from endpoints) then json end",
      "with wanted as (select exists (select from endpoints) as yes), new as (insert into queue (system_id, id) select $1, id from unnest($2::text[]) as w (id) on conflict do nothing returning id, json) select id, case when yes then json end from new cross join wanted",
    ],
    [
      "has a sub-select within values",
      "insert into endpoints (id, n) values ($1, (select count(*) from queue where system_id = $1))",
      "insert into endpoints (id, n) select $1, (select count(*) from queue where system_id = $1)",
    ],
    [
      "writes the state of stations and not their history",
      "update stations set change_position = next_change_position(), status = 'offline' where system_id = $1",
      "with updated as (update stations set change_position = next_change_position(), status = 'offline' where system_id = $1 returning id), recorded as (insert into station_changes (system_id, station_id) select $1, id from updated) select",
    ],
    [
      "deletes stations and not their history",
      "delete from stations where system_id = $1",
      "with deleted as (delete from stations where system_id = $1 returning id), forgotten as (delete from station_changes where system_id = $1 and station_id = any(array(select id from deleted))) select",
    ],
    [
      "compares in the short form of case",
      "select case status when 'held' then 1 else 0 end from queue where system_id = $1",
      "select case when status = 'held' then 1 else 0 end from queue where system_id = $1",
    ],
    [
      "takes a change position within",
      "update bikes set change_position = case when $2 then next_change_position() else change_position end where system_id = $1",
      "update bikes set change_position = next_change_position() where system_id = $1 and number = $2",
    ],
    [
      "adds an interval to a column",
      "update queue q set tries = q.tries + 1, due_at = q.due_at + interval '1 s' where q.system_id = $1",
      "update queue q set tries = q.tries + 1, due_at = now() + interval '1 s' where q.system_id = $1",
    ],
    [
      "reads the clock behind `on conflict`",
      "insert into queue (system_id, id, due_at) values ($1, $2, now()) on conflict (system_id, id) do update set due_at = now()",
      "insert into queue (system_id, id, due_at) values ($1, $2, now()) on conflict (system_id, id) do update set due_at = excluded.due_at",
    ],
    [
      "reads a reference table beside the row of its system",
      "insert into queue (system_id, id) select placed.system_id, w.id from placed_systems placed cross join unnest($2::text[]) as w (id) join endpoints on endpoints.id = w.id where placed.system_id = $1",
      "insert into queue (system_id, id) select placed.system_id, w.id from placed_systems placed cross join unnest($2::text[]) as w (id) where placed.system_id = $1",
    ],
    [
      "ends with an insert beside the row of its system",
      "with gone as (delete from queue where system_id = $1) insert into queue (system_id, id) select placed.system_id, $2 from placed_systems placed where placed.system_id = $1",
      "with gone as (delete from queue where system_id = $1), made as (insert into queue (system_id, id) select placed.system_id, $2 from placed_systems placed where placed.system_id = $1) select",
    ],
    [
      "locks a reference table beside a change",
      "with paused as (select id from endpoints where id = $2 for update) delete from queue using paused where queue.system_id = $1 and endpoint = paused.id",
      "with paused as (select id from endpoints where id = $2) delete from queue using paused where queue.system_id = $1 and endpoint = paused.id",
    ],
    [
      "locks a row of a reference table, whoever calls it",
      "select id from endpoints where id = $2 for no key update",
      "select id from queue where system_id = $1 and id = $2 for no key update",
    ],
  ])("%s", (_, before, after) => {
    expect(refused(before)).not.toEqual([]);
    expect(refused(before)[0]).toMatch(/^The statement "queue\.try" \S/);
    expect(refused(after)).toEqual([]);
  });

  test("share-locks a reference table, even if nobody calls it often", () => {
    const rarely = (lock: string) => ({
      name: "people.lock",
      text: `select id from endpoints where id = $2 ${lock}`,
    });
    expect(refusedIn(rarely("for share"), kinds)).toHaveLength(1);
    expect(refusedIn(rarely("for no key update"), kinds)).toEqual([]);
    const beside = "and (name = any($3) or name is distinct from $4)";
    expect(refusedIn(rarely(`${beside} for share`), kinds)).toHaveLength(1);
    expect(refusedIn(rarely(beside), kinds)).toEqual([]);
  });
});

/** Returns the TypeScript files in a directory and below it. */
async function sourcesIn(directory: string) {
  const names = (await readdir(directory, { recursive: true })).filter((name) => name.endsWith(".ts"));
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(join(directory, name), "utf8") })));
}

test("plans that do not know the system are kept only where the database is not distributed", async () => {
  const sources = (await sourcesIn(SOURCES)).filter(({ name }) => !name.endsWith(".test.ts"));
  const keeping = sources.filter(({ text }) => text.includes("force_generic_plan"));
  expect(keeping.map(({ name }) => name).toSorted()).toEqual([
    "storage/db/read-pool.ts",
    "webhooks/log/delivery-queries.ts",
  ]);
  expect(keeping.filter(({ text }) => !text.includes("not ${IS_DISTRIBUTED}"))).toEqual([]);
});

test("each name of a test's statement has one text, because later tests use the same connections", async () => {
  const texts = new Map<string, Set<string>>();
  const sources = [...(await sourcesIn(SOURCES)), ...(await sourcesIn(import.meta.dirname))];
  for (const { name: file, text: source } of sources) {
    // A text that does not follow its name is taken for one that no other has.
    for (const [whole, name, , text] of source.matchAll(/"(test\.\w+)"(?:,\s*(?:text:\s*)?(["`])(.*?)\2)?/gs)) {
      texts.set(name!, (texts.get(name!) ?? new Set()).add(text ?? `${file}: ${whole}`));
    }
  }
  expect(texts.size).toBeGreaterThan(50);
  expect([...texts].filter(([, { size }]) => size > 1).map(([name]) => name)).toEqual([]);
});
