import { serve } from "@hono/node-server";
import { and, desc, eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { boolean, integer, pgTable, text, timestamp } from "drizzle-orm/pg-core";
import { Hono } from "hono";
import pg from "pg";

/*
 * A peer of the service, with which `pnpm bench read` compares it (reading/peers.ts): Hono and Drizzle, with the query
 * builder, count and offset, and a prepared keyset query. The argument is the database's address. Prints its own
 * address.
 */
const time = (name) => timestamp(name, { withTimezone: true, mode: "string" });
const rides = pgTable("rides", {
  systemId: text("system_id"),
  id: text("id"),
  bike_id: text("bike_id"),
  status: text("status"),
  start_station_id: text("start_station_id"),
  end_station_id: text("end_station_id"),
  started_at: time("started_at"),
  ended_at: time("ended_at"),
  duration_seconds: integer("duration_seconds"),
  distance_meters: integer("distance_meters"),
  vehicle_type_id: text("vehicle_type_id"),
  rider_category: text("rider_category"),
  end_reason: text("end_reason"),
  is_countable: boolean("is_countable"),
  updated_at: time("updated_at"),
});
const { systemId: _, ...columns } = Object.fromEntries(Object.keys(rides).map((name) => [name, rides[name]]));
// `rides` has this function beside its columns.
delete columns.enableRLS;

const db = drizzle(new pg.Pool({ connectionString: process.argv[2], max: 10 }));
const ofSystem = eq(rides.systemId, "main");
const order = [desc(rides.started_at), desc(rides.id)];
const after = db
  .select(columns)
  .from(rides)
  .where(
    and(
      ofSystem,
      sql`(${rides.started_at}, ${rides.id}) < (${sql.placeholder("started_at")}::timestamptz, ${sql.placeholder("id")})`,
    ),
  )
  .orderBy(...order)
  .limit(50)
  .prepare("after");

const app = new Hono();
app.get("/rides/after", async (context) => {
  const data = await after.execute(context.req.query());
  const last = data.at(-1);
  return context.json({
    data,
    next_cursor: Buffer.from(JSON.stringify([last.started_at, last.id])).toString("base64url"),
  });
});
app.get("/rides", async (context) => {
  const page = Number(context.req.query("page") ?? 1);
  const [data, total] = await Promise.all([
    db
      .select(columns)
      .from(rides)
      .where(ofSystem)
      .orderBy(...order)
      .limit(50)
      .offset((page - 1) * 50),
    db.$count(rides, ofSystem),
  ]);
  return context.json({ data, page, total_pages: Math.ceil(total / 50) });
});

serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) => {
  process.stdout.write(`http://127.0.0.1:${port}\n`);
});
process.once("SIGTERM", () => process.exit(0));
