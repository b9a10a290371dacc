/*
 * Simulates servers of others: a mail server and a partner's webhook receiver. Their certificates are of an authority that
 * every machine trusts.
 */
import { createServer } from "node:https";
import { type SmtpServer, startSmtpServer } from "../../apps/server/test/servers/smtp-server.ts";
import type { PublicAuthority } from "./authorities.ts";

/** A delivery that the partner's receiver got. */
interface ReceivedDelivery {
  readonly signature: string;
  readonly body: string;
}

/** The simulated servers of others, with what they have got so far. */
export interface Outside {
  readonly mail: SmtpServer;
  readonly deliveries: readonly ReceivedDelivery[];
  close(): Promise<void>;
}

/** Starts the servers at an address to which their names resolve. */
export async function startOutside(authority: PublicAuthority, address: string): Promise<Outside> {
  // The mail server offers STARTTLS, and accepts every name and password.
  const greeting = "250-here\r\n250-STARTTLS\r\n250 AUTH PLAIN LOGIN";
  const tls = { from: "STARTTLS" as const, ...authority.certify("mail.example.com") };
  const mail = await startSmtpServer({ tls, answers: { EHLO: greeting, AUTH: "235 welcome" } }, 587, address);
  const deliveries: ReceivedDelivery[] = [];
  const receiver = createServer(authority.certify("journeys.example.org"), (request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      deliveries.push({ signature: String(request.headers["service-signature"]), body });
      response.writeHead(204).end();
    });
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  receiver.on("error", reject).listen(443, address, resolve);
  await promise;
  const close = async () => {
    receiver.close().closeAllConnections();
    await mail.close();
  };
  return { mail, deliveries, close };
}
