import { hash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout } from "node:timers/promises";

/*
 * The receiver of the crash test, which runs in a separate process. It stores a hash of every complete body, and delays its
 * response. A GET returns the stored hashes and clears them.
 */
const delay = Number(process.argv[2]);
let receipts: [deliveryId: string, hash: string][] = [];

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  if (request.method === "GET") {
    response.end(JSON.stringify(receipts));
    receipts = [];
    return;
  }
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks);
    const { delivery_id: id } = JSON.parse(body.toString()) as { readonly delivery_id: string };
    receipts.push([id, hash("sha256", body, "hex")]);
    void setTimeout(delay).then(
      () => response.writeHead(204).end(),
      () => undefined,
    );
  });
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
process.stdout.write(`http://127.0.0.1:${typeof address === "object" ? address?.port : 0}\n`);
process.on("SIGTERM", () => process.exit(0));
