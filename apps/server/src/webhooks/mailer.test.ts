import { afterEach, describe, expect, test } from "vitest";
import { createMailer, type Mail, type MailerOptions } from "./mailer.ts";
import { type SmtpServer, type SmtpServerOptions, startSmtpServer } from "./smtp-server.fixture.ts";

const FROM = "Bikes <noreply@bikes.example>";
const MAIL: Mail = { to: "ops@partner.example", subject: "Webhooks fail", text: "Since noon.\nÅrsak: 500\n.\nEnd.\n" };

const open: SmtpServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

async function serve(options?: SmtpServerOptions): Promise<SmtpServer> {
  const server = await startSmtpServer(options);
  open.push(server);
  return server;
}

function mailer(smtpUrl: string, options: Partial<MailerOptions> = {}) {
  const made = createMailer(smtpUrl, { from: FROM, ...options });
  if (made === undefined) throw new Error("no mailer");
  return made;
}

/** How sending fails. */
async function failure(port: number, options: Partial<MailerOptions> = {}, mail: Partial<Mail> = {}): Promise<Error> {
  const error: unknown = await mailer(`smtp://127.0.0.1:${port}`, options)
    .send({ ...MAIL, ...mail })
    .catch((reason: unknown) => reason);
  if (!(error instanceof Error)) throw new Error("the mail was sent");
  return error;
}

test("without an SMTP server there is no mailer", () => {
  expect(createMailer(undefined, { from: FROM })).toBeUndefined();
});

test("a mail arrives as it was written, from the sender to the one recipient", async () => {
  const server = await serve();
  await mailer(`smtp://127.0.0.1:${server.port}`).send(MAIL);
  const [mail] = server.mails;
  expect(mail).toMatchObject({ from: "<noreply@bikes.example>", to: ["<ops@partner.example>"] });
  expect(mail?.data).toMatch(/^From: Bikes <noreply@bikes\.example>\r$/m);
  expect(mail?.data).toMatch(/^To: ops@partner\.example\r$/m);
  expect(mail?.data).toMatch(/^Subject: Webhooks fail\r$/m);
  expect(mail?.data).toContain("=C3=85rsak: 500");
});

describe("nobody writes headers or recipients of their own", () => {
  test("a subject stays one line", async () => {
    const server = await serve();
    const subject = "Fail\r\nBcc: all@victim.example\n\nHi";
    await mailer(`smtp://127.0.0.1:${server.port}`).send({ ...MAIL, subject });
    const [mail] = server.mails;
    expect(mail?.to).toEqual(["<ops@partner.example>"]);
    expect(mail?.data).toMatch(/^Subject: Fail Bcc: all@victim\.example Hi\r$/m);
    expect(mail?.data).not.toMatch(/^Bcc/im);
  });

  test.each([
    "a@x.example, b@victim.example",
    "a@x.example\r\nBcc: b@victim.example",
    "a@x.example\nRCPT TO:<b@victim.example>",
    "Group: a@x.example, b@victim.example;",
    "Name <a@x.example>",
    "<a@x.example>",
    '"a b"@x.example',
    "a@x.example@y.example",
    "a@",
    "@x.example",
    "x.example",
    "",
    `${"a".repeat(65)}@x.example`,
  ])("%j is refused before anything is sent", async (to) => {
    const server = await serve();
    expect((await failure(server.port, {}, { to })).message).toContain("is not one mail address");
    expect(server.commands).toEqual([]);
  });

  test("an address begins no option of a command", async () => {
    const server = await serve();
    await mailer(`smtp://127.0.0.1:${server.port}`).send({ ...MAIL, to: "-oQ/tmp@x.example" });
    expect(server.mails[0]?.to).toEqual(["<-oQ/tmp@x.example>"]);
  });
});

describe("a server that does not take the mail is an error in time", () => {
  test.each([
    ["says nothing", { hangsAt: "greeting" }],
    ["stops before the mail", { hangsAt: "DATA" }],
    ["stops after the mail", { hangsAt: "end of data" }],
    ["says a little now and then", { hangsAt: "end of data", drips: 50 }],
  ] as const)("one that %s", async (_, options) => {
    const server = await serve(options);
    const began = performance.now();
    await failure(server.port, { timeout: 300 });
    expect(performance.now() - began).toBeLessThan(3_000);
    await expect.poll(() => server.connections(), { timeout: 5_000 }).toBe(0);
  });

  test("one that refuses the recipient, with the server's reason", async () => {
    const server = await serve({ answers: { RCPT: "550 no such box" } });
    expect((await failure(server.port)).message).toContain("550 no such box");
    expect(server.mails).toEqual([]);
  });

  test("one that refuses the mail", async () => {
    const server = await serve({ answers: { "end of data": "554 looks like spam" } });
    expect((await failure(server.port)).message).toContain("554 looks like spam");
  });

  test("one that is not there", async () => {
    const server = await startSmtpServer();
    await server.close();
    expect((await failure(server.port)).message).toContain("ECONNREFUSED");
  });
});

describe("a password", () => {
  test("is not sent to a server without TLS, and stands in no error", async () => {
    const server = await serve();
    const error: unknown = await mailer(`smtp://me:s3cret@127.0.0.1:${server.port}`)
      .send(MAIL)
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain("s3cret");
    expect(server.commands.join("\n")).not.toMatch(/AUTH|s3cret/);
    expect(server.mails).toEqual([]);
  });

  test("is sent without TLS where the URL says so", async () => {
    const login = { EHLO: "250-here\r\n250 AUTH PLAIN", AUTH: "235 welcome" };
    const server = await serve({ answers: login });
    await mailer(`smtp://me:s3cret@127.0.0.1:${server.port}?requireTLS=false`).send(MAIL);
    expect(server.commands).toContain(`AUTH PLAIN ${Buffer.from("\0me\0s3cret").toString("base64")}`);
    expect(server.mails).toHaveLength(1);
  });
});
