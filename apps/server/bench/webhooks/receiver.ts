import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";

/*
 * The far side: answers every POST with 204 as soon as its body is there. GET /count says how many came since the last
 * reset; GET /arrivals gives, and forgets, when each delivery came (milliseconds since 1970, by the machine's clock).
 */
let count = 0;
let arrivals: [data: string, at: number][] = [];
const keepsArrivals = process.argv.includes("--arrivals");

const receive: RequestListener = (request, response) => {
  if (request.method === "GET") {
    const answer = request.url === "/arrivals" ? arrivals : count;
    if (request.url === "/arrivals") arrivals = [];
    if (request.url === "/reset") count = 0;
    response.end(JSON.stringify(answer));
    return;
  }
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    count++;
    if (keepsArrivals) arrivals.push([Buffer.concat(chunks).toString(), performance.timeOrigin + performance.now()]);
    response.writeHead(204).end();
  });
};

/** Each address of the loopback network is an origin of its own, as partners' receivers are. */
const origins = Number(process.argv[2] ?? 1);
const servers = Array.from({ length: origins }, () => createServer({ keepAliveTimeout: 60_000 }, receive));
const urls = await Promise.all(
  servers.map(async (server, i) => {
    server.listen(0, `127.0.${Math.floor(i / 250)}.${(i % 250) + 1}`);
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("not listening on a port");
    return `http://${address.address}:${address.port}`;
  }),
);
process.stdout.write(`${JSON.stringify({ urls })}\n`);
process.on("SIGTERM", () => process.exit(0));
