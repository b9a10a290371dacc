import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { createSecureContext, createServer as createTlsServer, TLSSocket } from "node:tls";

/** A mail that an SMTP client has sent. */
interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and body as they were received. */
  readonly data: string;
}

export interface SmtpServerOptions {
  /** The step at which the server stops answering for good. Default: never. */
  readonly hangsAt?: "greeting" | "DATA" | "end of data";
  /** Responses to commands that replace the usual ones. A getter may return a different response each time. */
  readonly answers?: Readonly<Record<string, string>>;
  /** Milliseconds between small pieces that the server sends while it hangs, so that the connection never seems dead. */
  readonly drips?: number;
  /** Uses TLS from the first byte, or after STARTTLS. */
  readonly tls?: { readonly from: "start" | "STARTTLS"; readonly key: string; readonly cert: string };
}

/** A minimal SMTP server. */
export interface SmtpServer {
  readonly port: number;
  readonly mails: readonly ReceivedMail[];
  /** Every received line that is not part of a mail. */
  readonly commands: readonly string[];
  /** Returns the number of open connections. */
  connections(): number;
  close(): Promise<void>;
}

/** Starts an SMTP server. @param port 0: any free port */
export async function startSmtpServer(
  options: SmtpServerOptions = {},
  port = 0,
  host = "127.0.0.1",
): Promise<SmtpServer> {
  const mails: ReceivedMail[] = [];
  const commands: string[] = [];
  const sockets = new Set<Socket>();
  const { tls } = options;
  const serve = (socket: Socket) => converse(socket, options, { mails, commands });
  const server = tls?.from === "start" ? createTlsServer(tls, serve) : createServer(serve);
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
  });
  await once(server.listen(port, host), "listening");
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    mails,
    commands,
    connections: () => sockets.size,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

const USUAL: Readonly<Record<string, string>> = {
  EHLO: "250-here\r\n250 8BITMIME",
  STARTTLS: "502 not here",
  DATA: "354 go on",
  QUIT: "221 bye",
};

interface Heard {
  readonly mails: ReceivedMail[];
  readonly commands: string[];
}

/** Handles one connection. @param isUpgraded whether TLS has begun with STARTTLS, so that the greeting was already sent */
function converse(socket: Socket, options: SmtpServerOptions, heard: Heard, isUpgraded = false): void {
  let [from, to, isData]: [string, string[], boolean] = ["", [], false];
  const upgrade = options.tls?.from === "STARTTLS" && !isUpgraded ? options.tls : undefined;
  const usual = upgrade ? { ...USUAL, EHLO: "250-here\r\n250 STARTTLS", STARTTLS: "220 go on" } : USUAL;
  const say = (at: string, line: string) => {
    if (at !== options.hangsAt) socket.write(`${options.answers?.[at] ?? line}\r\n`);
    else if (options.drips !== undefined) drip(socket, options.drips);
  };
  const obey = (line: string) => {
    heard.commands.push(line);
    const [command = ""] = line.split(" ");
    if (command === "MAIL") [from, to] = [line.slice("MAIL FROM:".length), []];
    if (command === "RCPT") to.push(line.slice("RCPT TO:".length));
    isData = command === "DATA" && options.hangsAt !== "DATA" && options.answers?.["DATA"] === undefined;
    say(command, usual[command] ?? "250 ok");
    if (command === "QUIT") socket.end();
    if (command !== "STARTTLS" || upgrade === undefined) return;
    stopReading();
    converse(secure(socket, upgrade), options, heard, true);
  };
  const take = (data: string) => {
    heard.mails.push({ from, to, data });
    isData = false;
    say("end of data", "250 taken");
  };
  const stopReading = read(
    socket,
    () => (isData ? END_OF_DATA : "\r\n"),
    (part) => (isData ? take(part) : obey(part)),
  );
  if (!isUpgraded) say("greeting", "220 here ESMTP");
}

const END_OF_DATA = "\r\n.\r\n";

/**
 * Splits the received bytes at `terminator()`, which may change from part to part. @returns a function that stops reading
 */
function read(socket: Socket, terminator: () => string, onPart: (part: string) => void): () => void {
  let buffer = "";
  const hear = (chunk: Buffer) => {
    buffer += chunk.toString("latin1");
    for (let end = buffer.indexOf(terminator()); end >= 0; end = buffer.indexOf(terminator())) {
      const part = buffer.slice(0, end);
      buffer = buffer.slice(end + terminator().length);
      onPart(part);
    }
  };
  socket.on("error", () => undefined).on("data", hear);
  return () => socket.off("data", hear);
}

function secure(socket: Socket, { key, cert }: { readonly key: string; readonly cert: string }): TLSSocket {
  return new TLSSocket(socket, { isServer: true, secureContext: createSecureContext({ key, cert }) });
}

function drip(socket: Socket, every: number): void {
  const timer = setInterval(() => socket.write("250-wait\r\n"), every);
  socket.on("close", () => clearInterval(timer));
}
