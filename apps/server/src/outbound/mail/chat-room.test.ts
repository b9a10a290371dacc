import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it, vi } from "vitest";
import { startSmtpServer } from "../../../test/servers/smtp-server.ts";
import { CHAT_ROOM, createOperatorMailer } from "./chat-room.ts";
import { PermanentMailError } from "./mailer.ts";

const NOTICE = {
  id: "mail_1",
  to: CHAT_ROOM,
  subject: "Feeds: <!channel> & co are silent",
  text: "Since noon.\nMend it.\n",
};
const SECRET = "/services/T0/B0/s3cret";

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** Starts a chat room that answers with a status. @returns its URL, and the messages that it got */
async function room(status: number, headers: Record<string, string> = {}) {
  const got: { readonly url: string | undefined; readonly type: string | undefined; readonly body: unknown }[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      got.push({ url: request.url, type: request.headers["content-type"], body: JSON.parse(text) });
      if (status !== 0) response.writeHead(status, headers).end("ok");
    });
  });
  open.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { got, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${SECRET}` };
}

/** Sends a notice that must fail. Returns the error, and checks that it does not contain the secret URL. */
async function failure(url: string, signal?: AbortSignal): Promise<Error> {
  const error: unknown = await createOperatorMailer(undefined, url)
    ?.send(NOTICE, signal)
    .catch((reason: unknown) => reason);
  if (!(error instanceof Error)) throw new Error("the notice was sent");
  expect(`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`).not.toContain("s3cret");
  return error;
}

it("a notice is one message of Slack's form, in which nobody is called by a name", async () => {
  const { got, url } = await room(200);
  await createOperatorMailer(undefined, url)?.send(NOTICE);
  const text = "Feeds: &lt;!channel&gt; &amp; co are silent\n\nSince noon.\nMend it.\n";
  expect(got).toEqual([{ url: SECRET, type: "application/json", body: { text } }]);
});

it("what a partner calls an endpoint calls nobody, and leads nowhere, in rooms that read Markdown", async () => {
  const { got, url } = await room(200);
  await createOperatorMailer(undefined, url)?.send({ ...NOTICE, text: "“@all [Sign in](https://x.example)” fails" });
  expect(JSON.stringify(got)).toContain("@\u200Ball [Sign in]\u200B(https://x.example)");
});

it("Teams gets the notice as a card", async () => {
  const sent = vi.spyOn(globalThis, "fetch").mockResolvedValue(new Response(null, { status: 202 }));
  await createOperatorMailer(undefined, "https://prod-1.westeurope.logic.azure.com/workflows/1?sig=x")?.send(NOTICE);
  const body = JSON.parse(sent.mock.calls[0]?.[1]?.body as string) as {
    attachments: { content: { body: object[] } }[];
  };
  const text = `${NOTICE.subject}\n\n${NOTICE.text}`;
  expect(body.attachments[0]?.content.body).toEqual([{ type: "TextBlock", text, wrap: true }]);
});

it.each([400, 403, 404, 410, 302])("a room that answers %i has refused the notice for good", async (status) => {
  const elsewhere = await room(200);
  const { got, url } = await room(status, { location: elsewhere.url });
  expect(await failure(url)).toBeInstanceOf(PermanentMailError);
  expect([got.length, elsewhere.got.length]).toEqual([1, 0]);
});

it.each([408, 429, 500, 503])("a room that answers %i may get the notice later", async (status) => {
  const { url } = await room(status);
  expect(await failure(url)).not.toBeInstanceOf(PermanentMailError);
});

it("a room that is away, or never answers, may get the notice later", async () => {
  const { url } = await room(0);
  const stop = new AbortController();
  const silent = failure(url, stop.signal);
  stop.abort();
  expect(await silent).not.toBeInstanceOf(PermanentMailError);
  const gone = await room(200);
  await once(open.pop()?.close() ?? process, "close");
  const error = await failure(gone.url);
  expect(error).not.toBeInstanceOf(PermanentMailError);
  expect(error.message).toContain("ECONNREFUSED");
});

it("mails go to the mail server, and wait for another process where this one has none", async () => {
  const smtp = await startSmtpServer();
  const { got, url } = await room(200);
  const mail = { smtpUrl: `smtp://127.0.0.1:${smtp.port}`, from: "noreply@bikes.example" };
  const to = "ops@bikes.example";
  await createOperatorMailer(mail, url)?.send({ ...NOTICE, to });
  expect([smtp.mails.length, got.length]).toEqual([1, 0]);
  await smtp.close();
  const error: unknown = await createOperatorMailer(undefined, url)
    ?.send({ ...NOTICE, to })
    .catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Error);
  expect(error).not.toBeInstanceOf(PermanentMailError);
  expect(createOperatorMailer(undefined, undefined)).toBeUndefined();
});
