import { once } from "node:events";
import { createServer } from "node:http";

/* A far side that takes every request and never answers. */
const server = createServer(() => undefined);
// Longer than any attempt waits.
server.requestTimeout = 0;
server.headersTimeout = 0;
server.listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
process.stdout.write(`http://127.0.0.1:${typeof address === "object" ? address?.port : 0}\n`);
process.on("SIGTERM", () => process.exit(0));
