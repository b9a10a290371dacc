import type { PageRequest } from "@bikeshare/rules";
import type { QueryRunner } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import { type Bind, countRows, type Filter, firstRowsOf, rowsOf } from "../lists/filtered-queries.ts";
import { fetchSize, type PageRows, startOf, type TimePosition } from "../lists/page.ts";
import { type AskedRides, list, pastChanges } from "./asked-rides.ts";
import { behind, DAY_MS, type PageSpan, spanOf, type Stretch, withFewUncounted } from "./stretches.rules.ts";

/** Stretches that one statement counts at most. Each is a sub-select of it, planned in 0.1 ms. */
const MAX_COUNTED = 40;

/** A page of the rides of some stretches; undefined when past rides have changed since these were known. */
export async function listStretches(
  db: QueryRunner,
  asked: AskedRides,
  stretches: readonly Stretch[],
  known: number,
  request: PageRequest<TimePosition>,
): Promise<PageRows | undefined> {
  const counted = await countStretches(db, asked, withFewUncounted(stretches, MAX_COUNTED), known);
  if (counted === undefined) return undefined;
  const start = startOf(request);
  const skip = "skip" in start ? start.skip : 0;
  const total = counted.reduce((sum, { n }) => sum + n, 0);
  const span = spanOf(counted, skip, fetchSize(request.limit));
  return span === undefined ? { rows: null, total } : { rows: await listSpan(db, asked.filter, span), total };
}

async function countStretches(
  db: QueryRunner,
  asked: AskedRides,
  stretches: readonly Stretch[],
  known: number,
): Promise<(Stretch & { readonly n: number })[] | undefined> {
  const { filter } = asked;
  const values = [...filter.values];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const counts = stretches.filter(({ n }) => n === undefined).map((each) => countWithin(asked, each, bind));
  // As float8, because pg gives an array of bigint as texts.
  const text = `select case when ${pastChanges} = ${bind(known)}::bigint then array[${counts.join(", ")}]::float8[] end as counts`;
  const { counts: numbers } = oneRow(
    await db.query<{ counts: number[] | null }>(statement("", withTypes(text, filter)), values),
  );
  if (numbers === null) return undefined;
  let next = 0;
  return stretches.map((each) => ({ ...each, n: each.n ?? numbers[next++] ?? 0 }));
}

/** PostgreSQL must be told the types of values that a statement does not use. */
function withTypes(text: string, { values }: Filter): string {
  const unused = values.flatMap((_, index) => (text.includes(`$${index + 1}`) ? [] : [`$${index + 1}::text is null`]));
  return unused.length === 0 ? text : `${text} where ${unused.join(" or ")} or true`;
}

async function listSpan(db: QueryRunner, filter: Filter, span: PageSpan): Promise<string | null> {
  const values = [...filter.values];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const inside = within(span, bind);
  const branches = filter.branches.map((branch) => `${branch} and ${inside}`);
  const text = rowsOf(list, { ...span, branches });
  return oneRow(await db.query<Pick<PageRows, "rows">>(statement("", text), values)).rows;
}

/** A page by cursor that looks only where rides can pass the filters; undefined when past rides have changed since. */
export async function listBehind(
  db: QueryRunner,
  asked: AskedRides,
  stretches: readonly Stretch[],
  known: number,
  request: Extract<PageRequest<TimePosition>, { kind: "cursor" }>,
): Promise<PageRows | undefined> {
  const { filter } = asked;
  const size = fetchSize(request.limit);
  const isOwners = asked.names.some((name) => name === "bike_id" || name === "station_id");
  const span = behind(stretches, Date.parse(request.after.at), isOwners ? Infinity : size);
  const values = [...filter.values];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const inside = within(span, bind);
  const position = list.placeholders(request.after, bind).join(", ");
  const branches = filter.branches.map((branch) => `${branch} and ${inside} and (started_at, id) < (${position})`);
  const text = `select (${firstRowsOf(list, { branches }, size)}) as rows, ${pastChanges} = ${bind(known)}::bigint as holds`;
  const { rows, holds } = oneRow(await db.query<{ rows: string | null; holds: boolean }>(statement("", text), values));
  return holds ? { rows, total: null } : undefined;
}

/** Stretches that a statement which is prepared counts: always so many. */
const PREPARED_COUNTED = 2;

/** SQL: how many rides some stretches have; null where past rides have changed since they were known. Undefined: too many to count. */
export function countPrepared(
  asked: AskedRides,
  stretches: readonly Stretch[],
  known: number,
): { readonly sql: string; readonly values: readonly unknown[] } | undefined {
  const { filter } = asked;
  const values = [...filter.values];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const uncounted = stretches.filter(({ n }) => n === undefined);
  if (uncounted.length > PREPARED_COUNTED) return undefined;
  while (uncounted.length < PREPARED_COUNTED) uncounted.push({ from: Infinity, to: Infinity, n: undefined });
  const sum = stretches.reduce((n, each) => n + (each.n ?? 0), 0);
  const counts = uncounted.map((each) => countWithin(asked, each, bind));
  const sql = `case when ${pastChanges} = ${bind(known)}::bigint then ${bind(sum)}::bigint + ${counts.join(" + ")} end`;
  return { sql, values };
}

function countWithin(asked: AskedRides, stretch: Pick<Stretch, "from" | "to">, bind: Bind): string {
  const inside = within(stretch, bind);
  const { filter, names, byDay } = asked;
  const hasOwnNumber = names.every((name) => NUMBERED.includes(name)) && isWholeDays(stretch);
  if (hasOwnNumber && (byDay.status ?? "completed") === "completed") {
    // How many rides started on whole days is kept, and those that are not completed have an index of their own.
    const all = `(select coalesce(sum(n), 0) from ride_counts where system_id = $1 and period = 'day' and ${inside.replaceAll("started_at", "starts_at")})`;
    const others = `(select count(*) from rides where system_id = $1 and status in ('started', 'cancelled') and status <> 'completed' and ${inside})`;
    return byDay.status === undefined ? all : `(${all} - ${others})`;
  }
  return countRows(
    list,
    filter.branches.map((branch) => `${branch} and ${inside}`),
  );
}

/** Filters that kept numbers have the rides of, by day. */
const NUMBERED: readonly string[] = ["status", "started_after", "started_before"];

function isWholeDays({ from, to }: Pick<Stretch, "from" | "to">): boolean {
  return [from, to].every((ms) => !Number.isFinite(ms) || ms % DAY_MS === 0);
}

/** SQL: the ride started in a stretch. */
function within({ from, to }: Pick<Stretch, "from" | "to">, bind: Bind): string {
  return `started_at >= ${bind(instant(from))}::timestamptz and started_at < ${bind(instant(to))}::timestamptz`;
}

function instant(ms: number): string {
  if (Number.isFinite(ms)) return new Date(ms).toISOString();
  return ms < 0 ? "-infinity" : "infinity";
}
