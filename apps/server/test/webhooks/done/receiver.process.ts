import { hash } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { verify } from "@bikeshare/webhooks";

/*
 * A partner's receiver that is not well: verifies every request, notes it down before it answers, and while the file
 * `failing` is there fails one request in three at random, by an answer 500 or without one. It may be killed at any time.
 * Arguments: port, directory with `secret`.
 */
const [port = "0", directory = ""] = process.argv.slice(2);

/** One request, as a line of the file `receipts`. */
export interface Receipt {
  readonly id: string;
  readonly hash: string;
  readonly verified: boolean;
  readonly answered: number | null;
}

async function verified(body: Buffer, header: string): Promise<boolean> {
  const secret = readFileSync(join(directory, "secret"), "utf8").trim();
  return verify(body, header, secret).then(
    () => true,
    () => false,
  );
}

function chooseAnswer(): number | null {
  if (!existsSync(join(directory, "failing")) || Math.random() >= 1 / 3) return 204;
  return Math.random() < 0.5 ? 500 : null;
}

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const take = async () => {
    const body = await buffer(request);
    const isVerified = await verified(body, String(request.headers["service-signature"]));
    const { delivery_id: id } = JSON.parse(body.toString()) as { readonly delivery_id: string };
    const answered = chooseAnswer();
    const receipt: Receipt = { id, hash: hash("sha256", body, "hex"), verified: isVerified, answered };
    appendFileSync(join(directory, "receipts"), `${JSON.stringify(receipt)}\n`);
    if (answered === null) request.socket.destroy();
    else response.writeHead(answered).end();
  };
  take().catch(() => request.socket.destroy());
});
server.listen(Number(port), "127.0.0.1");
await once(server, "listening");
const address = server.address();
process.stdout.write(`${typeof address === "object" ? address?.port : 0}\n`);
process.on("SIGTERM", () => process.exit(0));
