import Fastify from "fastify";
import { openReadPool } from "../../src/storage/db/read-pool.ts";
import { oneRow } from "../../src/storage/db/rows.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { joinRows, type PageRows } from "../../src/storage/lists/page.ts";

/*
 * The smallest possible server for a page by cursor, for comparison: a Fastify handler around the same prepared statement
 * over the same pipelined connections. It checks no key, limit or parameter, decrypts no cursor, and sends no ETag.
 */
const readPool = openReadPool({ connectionString: process.argv[2] ?? "" });
const app = Fastify();
const after = statement(
  "rides.after.51",
  joinRows(`select json from rides where system_id = $1 and (started_at, id) < ($2::timestamptz, $3)
            order by started_at desc, id desc limit 51`),
);

app.get<{ Querystring: { started_at: string; id: string } }>("/rides/after", async ({ query }, reply) => {
  const { rows } = oneRow(await readPool.read<PageRows>(after, ["main", query.started_at, query.id]));
  void reply.header("content-type", "application/json");
  return `{"data":[${rows}],"next_cursor":"opaque"}`;
});

process.stdout.write(`${await app.listen({ host: "127.0.0.1", port: 0 })}\n`);
process.once("SIGTERM", () => process.exit(0));
