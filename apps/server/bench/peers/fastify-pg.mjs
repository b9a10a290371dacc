import Fastify from "fastify";
import pg from "pg";

/*
 * A peer of the service, with which `pnpm bench read` compares it (reading/peers.ts): lists of rides as one would usually
 * write them with Fastify and pg. It reads rows with a pool, and serialises them with a response schema. `GET /constant`
 * sends a prepared buffer of `constantBytes`, to measure the framework alone. It has no keys and no limits. `node
 * fastify-pg.mjs <connection string> [constantBytes]` prints the address on which it listens.
 */
const [connectionString, constantBytes = "1000"] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString, max: 10 });
const app = Fastify();

const text = { type: "string" };
const optional = { type: ["string", "null"] };
const time = { type: "string", format: "date-time" };
const number = { type: ["integer", "null"] };
const ride = {
  type: "object",
  properties: {
    id: text,
    bike_id: text,
    status: text,
    start_station_id: optional,
    end_station_id: optional,
    started_at: time,
    ended_at: { ...time, nullable: true },
    duration_seconds: number,
    distance_meters: number,
    vehicle_type_id: optional,
    rider_category: optional,
    end_reason: optional,
    is_countable: { type: ["boolean", "null"] },
    updated_at: time,
  },
};
const rides = { type: "array", items: ride };
const columns = Object.keys(ride.properties).join(", ");
const order = "order by started_at desc, id desc limit 50";

app.get(
  "/rides/after",
  { schema: { response: { 200: { type: "object", properties: { data: rides, next_cursor: text } } } } },
  async ({ query }) => {
    const { rows } = await pool.query({
      name: "after",
      text: `select ${columns} from rides where system_id = 'main' and (started_at, id) < ($1::timestamptz, $2) ${order}`,
      values: [query.started_at, query.id],
    });
    const last = rows.at(-1);
    const next = Buffer.from(JSON.stringify([last.started_at, last.id])).toString("base64url");
    return { data: rows, next_cursor: next };
  },
);

app.get(
  "/rides",
  {
    schema: {
      response: { 200: { type: "object", properties: { data: rides, page: number, total_pages: number } } },
    },
  },
  async ({ query }) => {
    const page = Number(query.page ?? 1);
    const [{ rows }, counted] = await Promise.all([
      pool.query({
        name: "page",
        text: `select ${columns} from rides where system_id = 'main' ${order} offset $1`,
        values: [(page - 1) * 50],
      }),
      pool.query({ name: "count", text: "select count(*) from rides where system_id = 'main'" }),
    ]);
    return { data: rows, page, total_pages: Math.ceil(Number(counted.rows[0].count) / 50) };
  },
);

const constant = Buffer.alloc(Number(constantBytes), "x");
app.get("/constant", (_request, reply) => reply.header("content-type", "application/json").send(constant));

process.stdout.write(`${await app.listen({ host: "127.0.0.1", port: 0 })}\n`);
process.once("SIGTERM", () => process.exit(0));
