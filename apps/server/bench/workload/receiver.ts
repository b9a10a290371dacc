import { once } from "node:events";
import { createServer } from "node:http";
import { verify } from "@bikeshare/webhooks";

/** The partners' receivers, in one server: `/hooks/<partner>`. */
export interface Receiver {
  readonly base: string;
  /** Deliveries of a partner that came whole and rightly signed, by `<event> <id of the resource>`. */
  deliveries(partner: number): ReadonlyMap<string, Receipt>;
  /** Deliveries that were not signed as they must be, or not JSON. */
  readonly failures: readonly string[];
  /** From now on the partners' secrets, in their order. */
  useSecrets(secrets: readonly string[]): void;
  close(): Promise<void>;
}

export interface Receipt {
  /** How often it came. */
  times: number;
  readonly deliveryIds: Set<string>;
  /** Milliseconds from when the thing happened until it came first. */
  readonly delayMs: number;
}

interface Body {
  readonly event: string;
  readonly delivery_id: string;
  readonly occurred_at: string;
  readonly data: { readonly id: string };
}

/** @param answerMs milliseconds that each answer takes */
export async function startReceiver({ answerMs = 0 }: { readonly answerMs?: number } = {}): Promise<Receiver> {
  const byPartner = new Map<number, Map<string, Receipt>>();
  const failures: string[] = [];
  let secrets: readonly string[] = [];
  const receive = async (partner: number, text: string, signature: string) => {
    const body = (await verify(text, signature, secrets[partner] ?? "")) as unknown as Body;
    const receipts = byPartner.get(partner) ?? new Map<string, Receipt>();
    byPartner.set(partner, receipts);
    const name = `${body.event} ${body.data.id}`;
    const delayMs = Date.now() - Date.parse(body.occurred_at);
    const receipt = receipts.get(name) ?? { times: 0, deliveryIds: new Set<string>(), delayMs };
    receipts.set(name, receipt);
    receipt.times++;
    receipt.deliveryIds.add(body.delivery_id);
  };
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const partner = Number(/^\/hooks\/(\d+)$/.exec(request.url ?? "")?.[1]);
      const received = receive(partner, Buffer.concat(chunks).toString(), String(request.headers["service-signature"]));
      received.then(
        () => setTimeout(() => response.writeHead(204).end(), answerMs),
        (error: unknown) => {
          failures.push(String(error));
          response.writeHead(400).end();
        },
      );
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    base: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`,
    deliveries: (partner) => byPartner.get(partner) ?? new Map<string, Receipt>(),
    failures,
    useSecrets: (given) => void (secrets = given),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
