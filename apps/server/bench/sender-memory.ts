/**
 * Measures what 500 simultaneous attempts to hostile webhook receivers cost the sending process, with the production limits
 * (15 s for each attempt): `pnpm bench sender-memory [attempts] [http|https] [part of a kind]`. The receivers run in a
 * separate process, and each kind is measured in a new sending process. Prints the peak of the added memory, which should be
 * at most 64 MiB, and the longest attempt, which should take at most 15.5 s.
 */
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createSender, type Sender } from "../src/webhooks/sender/sender.ts";
import { makeCertificate } from "../test/servers/certificates.ts";
import { startServer } from "./processes.ts";
import { LOOPBACK_RULES } from "./provision.ts";

/** Beginnings of responses, and bytes that follow them. */
const head = "HTTP/1.1 200 OK\r\n";
const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`;
const wide = Buffer.alloc(65_536, "x");

/**
 * The kinds of receivers, by a name that the results show: what each does when a request has arrived. Many of the numbers
 * are just below a limit of the sender (`senderLimits`: 200 header lines, 16 KiB of headers, 64 KiB of body in 1,024
 * pieces), so that the sender keeps as much as it ever does.
 */
const kinds: Record<string, (socket: Socket) => void> = {
  "says nothing": () => {},
  "hangs behind 198 headers": (socket) => socket.write(`${head}${`a: ${"x".repeat(60)}\r\n`.repeat(198)}`),
  "hangs behind thousands of headers": (socket) => socket.write(`${head}${"a:\r\n".repeat(3_900)}`),
  "hangs behind thousands of trailers": (socket) => socket.write(`${chunked}0\r\n${"a:\r\n".repeat(3_900)}`),
  "hangs in a trailer behind 64 KiB": (socket) => socket.write(`${chunked}feff\r\n${"x".repeat(65_279)}\r\n0\r\na: b`),
  "sends a header of 16 KB piece by piece": (socket) => {
    let left = 1_000;
    const more = (): void => {
      if (socket.destroyed || left-- === 0) return;
      socket.write("x".repeat(16), () => setImmediate(more));
    };
    socket.setNoDelay(true).write(`${head}a: `);
    more();
  },
  "hangs one byte before 64 KiB": (socket) => socket.write(`${head}\r\n${"x".repeat(65_535)}`),
  "sends a byte a second": (socket) => {
    socket.write(`${head}\r\n`);
    const timer = setInterval(() => socket.write("x"), 1_000);
    socket.once("close", () => clearInterval(timer));
  },
  "sends chunks of 64 bytes, then hangs": (socket) =>
    socket.write(`${chunked}${`40\r\n${"x".repeat(64)}\r\n`.repeat(1_023)}`),
  "sends chunks of one byte, then hangs": (socket) => socket.write(`${chunked}${"1\r\nx\r\n".repeat(60_000)}`),
  "sends without end": (socket) => sendForEver(socket, `${head}Content-Encoding: gzip\r\n\r\n`),
  "sends a chunk extension without end": (socket) => sendForEver(socket, `${chunked}1;`),
};

/** Sends a beginning, and then bytes as long as the connection takes them. */
function sendForEver(socket: Socket, beginning: string): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(wide));
  };
  socket.write(beginning);
  socket.on("drain", more);
  more();
}

/** The message of the receivers' process to the measuring process. */
interface Receivers {
  /** The ports: first the healthy receiver, then one for each kind, in order. */
  readonly ports: readonly number[];
  /** The CA of the receivers' certificate, if they use TLS. */
  readonly ca?: string;
}

// The program starts itself in other processes: as `receivers <scheme>` and as `measure <kind> <receivers> <attempts>`.
// Started by hand, its words are the attempts, the scheme and a part of a kind.
const words = process.argv.slice(2);
if (words[0] === "receivers") {
  const [, scheme = ""] = words;
  await receive(scheme);
} else if (words[0] === "measure") {
  const [, kind, receivers = "", attempts] = words;
  await measure(Number(kind), JSON.parse(receivers) as Receivers, Number(attempts));
} else {
  const [attempts = "500", scheme = "http", part = ""] = words;
  await measureAll(attempts, scheme, part);
}

/** Starts the receivers, and measures each kind whose name contains `part`. */
async function measureAll(attemptsEach: string, scheme: string, part: string): Promise<void> {
  const script = fileURLToPath(import.meta.url);
  const receivers = await startServer(script, ["receivers", scheme], {});
  try {
    for (const [index, name] of Object.keys(kinds).entries()) {
      if (!name.includes(part)) continue;
      const measured = await startServer(script, ["measure", String(index), receivers.firstLine, attemptsEach], {});
      console.log(`${name}: ${measured.firstLine}`);
      await measured.stop();
    }
  } finally {
    await receivers.stop();
  }
}

/** Runs the receivers, and prints their ports as JSON (`Receivers`). */
async function receive(scheme: string): Promise<void> {
  process.once("SIGTERM", () => process.exit(0));
  const ports: number[] = [];
  const certificate = scheme === "https" ? await makeCertificate("127.0.0.1") : undefined;
  const healthy = (socket: Socket) => socket.write(`${head}Content-Length: 2\r\n\r\nok`);
  for (const act of [healthy, ...Object.values(kinds)]) {
    const onSocket = (socket: Socket): void => {
      socket.on("error", () => {});
      socket.on("data", () => act(socket));
    };
    const server = certificate === undefined ? createServer(onSocket) : createTlsServer(certificate, onSocket);
    await new Promise<void>((resolve) => {
      server.listen({ port: 0, host: "127.0.0.1", backlog: 1_024 }, resolve);
    });
    ports.push((server.address() as AddressInfo).port);
  }
  console.log(JSON.stringify({ ports, ca: certificate?.cert }));
}

/** Measures the attempts to one kind of receivers. @param index the kind's index in `kinds` */
async function measure(index: number, { ports: [healthy = 0, ...evil], ca }: Receivers, count: number): Promise<void> {
  const sender = createSender({ rules: LOOPBACK_RULES, tls: { ca } });
  const urls = [healthy, evil[index]].map((port) => `${ca === undefined ? "http" : "https"}://127.0.0.1:${port}/`);
  const [healthyUrl = "", evilUrl = ""] = urls;
  // Sends many requests to the healthy receiver first, so that the memory that any sending needs is not attributed to the
  // hostile receivers.
  for (let warming = 0; warming < 2_500; warming++) {
    await Promise.all(Array.from({ length: 10 }, () => post(sender, healthyUrl)));
  }
  collectGarbage();
  const before = process.memoryUsage.rss();
  let highest = before;
  const sample = (): void => {
    highest = Math.max(highest, process.memoryUsage.rss());
  };
  const sampler = setInterval(sample, 20);
  const results = await Promise.all(Array.from({ length: count }, () => post(sender, evilUrl)));
  sample();
  clearInterval(sampler);
  const longest = Math.max(...results.map(({ timings }) => timings.total));
  const ends = [...new Set(results.map(({ outcome, failure }) => failure ?? outcome))].join(", ");
  const added = ((highest - before) / 2 ** 20).toFixed(1);
  console.log(`+${added} MiB, longest ${(longest / 1000).toFixed(2)} s, ${ends}`);
  await sender.close();
}

function post(sender: Sender, url: string) {
  return sender.send({ url, headers: [["Content-Type", "application/json"]], body: "{}" });
}

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc()");
}
