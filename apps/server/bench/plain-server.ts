import Fastify from "fastify";
import pg from "pg";

/**
 * What most would write: Fastify, a pg pool, rows turned into objects and stringified. No keys, no limits. Answers
 * GET /rides?after_started=…&after_id=… (a page of 50 by cursor) and GET /stations (a constant buffer).
 */
const [connectionString, stationBytes] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString, max: 10 });
const app = Fastify();
const constant = Buffer.alloc(Number(stationBytes ?? 1000), "x");

app.get<{ Querystring: { started_at: string; id: string } }>("/rides", async (request) => {
  const { rows } = await pool.query({
    name: "page",
    text: `select id, bike_id, status, start_station_id, end_station_id, started_at, ended_at, duration_seconds,
             distance_meters, vehicle_type_id, rider_category, end_reason, is_countable, updated_at
           from rides where system_id = 'main' and (started_at, id) < ($1::timestamptz, $2)
           order by started_at desc, id desc limit 50`,
    values: [request.query.started_at, request.query.id],
  });
  return { data: rows, next_cursor: "opaque" };
});
app.get("/stations", (_request, reply) => reply.header("content-type", "application/json").send(constant));

const url = await app.listen({ host: "127.0.0.1", port: 0 });
process.stdout.write(`${url}\n`);
process.once("SIGTERM", () => process.exit(0));
