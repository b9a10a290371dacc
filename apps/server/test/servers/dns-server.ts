import { createSocket } from "node:dgram";
import { decode, encode } from "dns-packet";
import type { Answer } from "dns-packet";

/** The response to a question: addresses or complete records. `silence`: no response. */
export type DnsReply = readonly (string | Answer)[] | "nxdomain" | "servfail" | "silence";

/** A DNS server on loopback whose responses a test chooses. */
export interface DnsServer {
  /** `address:port`, for a resolver. */
  readonly address: string;
  /** The questions so far, as `A name` or `AAAA name`. */
  readonly questions: readonly string[];
  close(): Promise<void>;
}

/**
 * Starts a DNS server.
 * @param answer returns the response; `nth` counts the questions of the same type and name, from 0
 */
export async function startDnsServer(
  answer: (question: { readonly type: "A" | "AAAA"; readonly name: string; readonly nth: number }) => DnsReply,
): Promise<DnsServer> {
  const socket = createSocket("udp4");
  const questions: string[] = [];
  socket.on("message", (message, { address, port }) => {
    const query = decode(message);
    const [asked] = query.questions ?? [];
    if (asked === undefined || (asked.type !== "A" && asked.type !== "AAAA")) return;
    const { type, name } = asked;
    const nth = questions.filter((each) => each === `${type} ${name}`).length;
    questions.push(`${type} ${name}`);
    const reply = answer({ type, name, nth });
    if (reply === "silence") return;
    const records = typeof reply === "string" ? [] : reply;
    const answers = records.map((data): Answer => (typeof data === "string" ? { type, name, ttl: 0, data } : data));
    const flags = { nxdomain: 3, servfail: 2 } as const;
    socket.send(
      encode({
        id: query.id ?? 0,
        type: "response",
        // The flag "recursion available", and the response code.
        flags: 0x80 | (typeof reply === "string" ? flags[reply] : 0),
        questions: [asked],
        answers,
      }),
      port,
      address,
    );
  });
  await new Promise<void>((resolve) => {
    socket.bind(0, "127.0.0.1", resolve);
  });
  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    close: () =>
      new Promise((resolve) => {
        socket.close(() => resolve());
      }),
  };
}
