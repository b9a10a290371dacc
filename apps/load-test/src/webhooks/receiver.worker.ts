import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { parentPort, workerData } from "node:worker_threads";
import { type Delivery, SIGNATURE_HEADER, verify } from "@bikeshare/webhooks";
import { createDeliveryLedger } from "./delivery-ledger.ts";

/* The receiver's thread: partners' endpoints at /<index> of one address. receiver.ts starts it. */

export interface ReceiverData {
  readonly port: number;
}

export type ReceiverRequest =
  | { readonly kind: "secrets"; readonly secrets: readonly string[] }
  /** A run begins: what came before is forgotten. */
  | { readonly kind: "begin" }
  | { readonly kind: "result"; readonly events: readonly string[] };

let ledger = createDeliveryLedger();
let secrets: readonly string[] = [];

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  receive(request, response).catch((error: unknown) => response.destroy(error as Error));
});
server.listen((workerData as ReceiverData).port, "127.0.0.1", () => parentPort?.postMessage(server.address()));

parentPort?.on("message", (request: ReceiverRequest) => {
  if (request.kind === "secrets") secrets = request.secrets;
  if (request.kind === "begin") ledger = createDeliveryLedger();
  parentPort?.postMessage(request.kind === "result" ? ledger.result(request.events, secrets.length) : "done");
});

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const receivedAt = performance.timeOrigin + performance.now();
  const endpoint = Number(request.url?.slice(1));
  const header = request.headers[SIGNATURE_HEADER.toLowerCase()];
  try {
    const delivery = await verify(Buffer.concat(chunks), header, secrets[endpoint] ?? "no such endpoint");
    ledger.received({ endpoint, receivedAt, ...factsOf(delivery) });
    response.writeHead(200).end();
  } catch {
    ledger.unverified();
    response.writeHead(400).end();
  }
}

function factsOf({ event, delivery_id: deliveryId, occurred_at, sent_at, data }: Delivery) {
  const { id: subjectId = "" } = data as { id?: string };
  return { event, deliveryId, subjectId, occurredAt: Date.parse(occurred_at), sentAt: Date.parse(sent_at) };
}
