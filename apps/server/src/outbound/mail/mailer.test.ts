import { findFreePort } from "@bikeshare/test-kit";
import { afterEach, describe, expect, test, vi } from "vitest";
import { makeCertificate } from "../../../test/servers/certificates.ts";
import { type SmtpServer, type SmtpServerOptions, startSmtpServer } from "../../../test/servers/smtp-server.ts";
import { createMailer, type Mail, type MailerOptions, PermanentMailError } from "./mailer.ts";

const FROM = "Bikes <noreply@bikes.example>";
const MAIL: Mail = {
  id: "mail_1",
  to: "ops@partner.example",
  subject: "Webhooks fail",
  text: "Since noon.\nÅrsak: 500\n.\nEnd.\n",
};

/** The replies of a server that requires a password. */
const login = { EHLO: "250-here\r\n250 AUTH PLAIN", AUTH: "235 welcome" };

const good = await makeCertificate("127.0.0.1");
const named = await makeCertificate("mail.example");
const expired = await makeCertificate("127.0.0.1", -1);

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

/** Sends a mail that must fail. Returns the error. */
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

test("a mail that is sent again can be recognised by its Message-ID, and asks for no automatic answer", async () => {
  const server = await serve();
  const { send } = mailer(`smtp://127.0.0.1:${server.port}`);
  await send(MAIL);
  await send(MAIL);
  expect(server.mails).toHaveLength(2);
  for (const { data } of server.mails) {
    expect(data).toMatch(/^Message-ID: <mail_1@bikes\.example>\r$/m);
    expect(data).toMatch(/^Auto-Submitted: auto-generated\r$/m);
  }
});

test("a sender whose domain has letters of its own makes a Message-ID that every server takes", async () => {
  const server = await serve();
  await mailer(`smtp://127.0.0.1:${server.port}`, { from: "Fahrräder <post@räder.example>" }).send(MAIL);
  expect(server.mails[0]?.data).toMatch(/^Message-ID: <mail_1@xn--rder-loa\.example>\r$/m);
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
    const error = await failure(server.port, {}, { to });
    expect(error).toBeInstanceOf(PermanentMailError);
    expect(error.message).toContain("is not one mail address");
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
    expect(await failure(server.port, { timeout: 300 })).not.toBeInstanceOf(PermanentMailError);
    await expect.poll(() => server.connections()).toBe(0);
  });

  test("one that is given up on", async () => {
    const server = await serve({ hangsAt: "end of data" });
    const stop = new AbortController();
    const sent = mailer(`smtp://127.0.0.1:${server.port}`).send(MAIL, stop.signal);
    const refused = expect(sent).rejects.toThrow("aborted");
    await expect.poll(() => server.mails.length).toBe(1);
    stop.abort();
    await refused;
    await expect.poll(() => server.connections()).toBe(0);
  });

  test("one that is not there", async () => {
    expect((await failure(await findFreePort())).message).toContain("ECONNREFUSED");
  });
});

describe("what is refused", () => {
  test.each([
    ["the recipient", { RCPT: "550 no such box" }],
    ["the mail", { DATA: "554 looks like spam" }],
    ["the mail once it came", { "end of data": "552 too much" }],
  ])("for good (%s) is told apart, with the server's reason", async (_, answers) => {
    const server = await serve({ answers });
    const error = await failure(server.port);
    expect(error).toBeInstanceOf(PermanentMailError);
    expect(error.message).toContain(Object.values(answers)[0]);
  });

  test.each([
    ["busy, at the recipient", { RCPT: "450 come back later" }],
    ["busy, at the mail", { DATA: "451 come back later" }],
    ["busy, once it came", { "end of data": "452 no room now" }],
    ["closing", { greeting: "421 going down" }],
    ["not for us, at the greeting", { greeting: "554 no service" }],
    ["wary of the sender", { MAIL: "553 who is that" }],
  ])("by a server that is %s may be sent later", async (_, answers) => {
    const server = await serve({ answers });
    const error = await failure(server.port);
    expect(error).not.toBeInstanceOf(PermanentMailError);
    expect(error.message).toContain(Object.values(answers)[0]);
    expect(server.mails.length).toBeLessThanOrEqual("end of data" in answers ? 1 : 0);
  });
});

describe.each(["start", "STARTTLS"] as const)("TLS from %s on", (from) => {
  const scheme = from === "start" ? "smtps" : "smtp";

  test("takes a mail, and the password, where the certificate is trusted", async () => {
    const server = await serve({ tls: { from, ...good }, answers: login });
    await mailer(`${scheme}://me:p%40ss@127.0.0.1:${server.port}`, { ca: good.cert }).send(MAIL);
    expect(server.commands).toContain(`AUTH PLAIN ${Buffer.from("\0me\0p@ss").toString("base64")}`);
    expect(server.mails).toHaveLength(1);
  });

  test.each([
    ["nobody vouches for", good, undefined],
    ["is for another name", named, named.cert],
    ["has expired", expired, expired.cert],
  ])("sends neither mail nor password where the certificate %s", async (_, certificate, ca) => {
    // The certificate must be checked even if the environment switches checks off. Node would print a warning about that.
    vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    const server = await serve({ tls: { from, ...certificate } });
    for (const user of ["me:s3cret@", ""]) {
      const sent = mailer(`${scheme}://${user}127.0.0.1:${server.port}`, ca === undefined ? {} : { ca }).send(MAIL);
      await expect(sent).rejects.toThrow(/certificate|altnames/i);
    }
    expect(server.mails).toEqual([]);
    expect(server.commands.join("\n")).not.toMatch(/AUTH|MAIL|s3cret/);
  });
});

test("a server that speaks no TLS is an error where TLS was asked for", async () => {
  const server = await serve();
  const sent = mailer(`smtps://127.0.0.1:${server.port}`, { timeout: 2_000 }).send(MAIL);
  await expect(sent).rejects.toThrow();
  expect(server.mails).toEqual([]);
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
    const server = await serve({ answers: login });
    await mailer(`smtp://me:s3cret@127.0.0.1:${server.port}?requireTLS=false`).send(MAIL);
    expect(server.commands).toContain(`AUTH PLAIN ${Buffer.from("\0me\0s3cret").toString("base64")}`);
    expect(server.mails).toHaveLength(1);
  });
});
