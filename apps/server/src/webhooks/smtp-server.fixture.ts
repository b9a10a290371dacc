import { once } from "node:events";
import { createServer, type Socket } from "node:net";

/** What an SMTP client said. */
interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and body as they came. */
  readonly data: string;
}

export interface SmtpServerOptions {
  /** Where it falls silent for good; never, when left out. */
  readonly hangsAt?: "greeting" | "DATA" | "end of data";
  /** Answers to commands that are not the usual ones. */
  readonly answers?: Readonly<Record<string, string>>;
  /** Says a little every so many milliseconds where it hangs, so that the connection never seems dead. */
  readonly drips?: number;
}

/** An SMTP server in a few lines, on loopback. */
export interface SmtpServer {
  readonly port: number;
  readonly mails: readonly ReceivedMail[];
  /** Every line that came outside of a mail. */
  readonly commands: readonly string[];
  /** Connections that are open. */
  connections(): number;
  close(): Promise<void>;
}

export async function startSmtpServer(options: SmtpServerOptions = {}): Promise<SmtpServer> {
  const mails: ReceivedMail[] = [];
  const commands: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    converse(socket, options, commands, mails);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
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

function converse(socket: Socket, options: SmtpServerOptions, commands: string[], mails: ReceivedMail[]): void {
  let [from, to, buffer, isData]: [string, string[], string, boolean] = ["", [], "", false];
  const say = (at: string, line: string) => {
    if (at !== options.hangsAt) socket.write(`${options.answers?.[at] ?? line}\r\n`);
    else if (options.drips !== undefined) drip(socket, options.drips);
  };
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    buffer += chunk;
    for (let end = buffer.indexOf(isData ? "\r\n.\r\n" : "\r\n"); end >= 0;) {
      const line = buffer.slice(0, end);
      buffer = buffer.slice(end + (isData ? 5 : 2));
      if (isData) {
        mails.push({ from, to, data: line });
        isData = false;
        say("end of data", "250 taken");
      } else {
        commands.push(line);
        const [command = ""] = line.split(" ");
        if (command === "MAIL") [from, to] = [line.slice("MAIL FROM:".length), []];
        if (command === "RCPT") to.push(line.slice("RCPT TO:".length));
        isData = command === "DATA" && options.hangsAt !== "DATA" && options.answers?.["DATA"] === undefined;
        say(command, USUAL[command] ?? "250 ok");
        if (command === "QUIT") socket.end();
      }
      end = buffer.indexOf(isData ? "\r\n.\r\n" : "\r\n");
    }
  });
  say("greeting", "220 here ESMTP");
}

function drip(socket: Socket, every: number): void {
  const timer = setInterval(() => socket.write("250-wait\r\n"), every);
  socket.on("close", () => clearInterval(timer));
}
