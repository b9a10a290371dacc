import sqlMapper from "@platformatic/sql-mapper";
import sqlOpenapi from "@platformatic/sql-openapi";
import Fastify from "fastify";

/*
 * A peer of the service, with which `pnpm bench read` compares it (reading/peers.ts): Platformatic SQL, with the routes that
 * it generates for the table of rides. It ignores columns that no page of the service has. The argument is the database's
 * address. Prints its own address.
 */
const app = Fastify();
await app.register(sqlMapper, {
  connectionString: process.argv[2],
  poolSize: 10,
  include: { rides: true },
  ignore: { rides: { json: true, source: true, import_id: true, reservation_id: true } },
});
await app.register(sqlOpenapi);
process.stdout.write(`${await app.listen({ host: "127.0.0.1", port: 0 })}\n`);
process.once("SIGTERM", () => process.exit(0));
