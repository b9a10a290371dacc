import { createTestClock } from "@bikeshare/test-kit";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type CliHarness, openCliHarness } from "../../test/cli/cli.harness.ts";
import { startSmtpServer } from "../../test/servers/smtp-server.ts";
import type { Config } from "../config.ts";
import { acceptInvitation, openInvitation } from "../console/people/invitations.ts";
import { sessionOf, startSession } from "../console/sessions/service.ts";
import { registerConsole } from "./console.ts";

const clock = createTestClock();
let harness: CliHarness;
/** Replaces settings of the commands. */
let settings: Partial<Config>;

beforeEach(async () => {
  settings = {};
  harness = await openCliHarness({
    register: (program, cli) =>
      registerConsole(program, () => ({ ...cli(), config: { ...cli().config, ...settings } })),
    clock,
  });
});
afterEach(() => harness.close());

const ids = {
  next: (prefix: string) => `${prefix}_cli${clock()}`,
  randomBytes: () => new Uint8Array(32),
  random: () => 0,
};

async function invitedToken(...args: string[]): Promise<string> {
  const { stdout } = await harness.run("console", "invite", ...args, "--json");
  const { url } = JSON.parse(stdout) as { url: string };
  expect(url).toMatch(/^http:\/\/localhost:3000\/dashboard\/invitation#[\w-]{43}$/);
  return url.split("#")[1] ?? "";
}

it("invites somebody by a link that the service accepts, as an admin unless told otherwise", async () => {
  const context = { db: harness.db, clock, ids };
  const token = await invitedToken("--operator", "--email", "Boss@Example.com");
  expect(await openInvitation(context, token)).toMatchObject({ email: "boss@example.com", role: "admin" });
  const viewer = await invitedToken("--operator", "--email", "v@example.com", "--role", "viewer");
  expect(await openInvitation(context, viewer)).toMatchObject({ role: "viewer", partner_id: null });
});

it("shows the link of an invitation whose mail failed, and says that no mail was sent and why", async () => {
  const smtp = await startSmtpServer({ answers: { RCPT: "550 no such person" } });
  settings = { mail: { smtpUrl: `smtp://127.0.0.1:${smtp.port}`, from: "bikes@example.com" } };
  try {
    const token = await invitedToken("--operator", "--email", "gone@example.com");
    expect(harness.written.stderr).toMatch(/^No mail was sent: .*550 no such person/);
    expect(JSON.parse(harness.written.stdout)).toMatchObject({ mailed: false });
    expect(await openInvitation({ db: harness.db, clock, ids }, token)).toMatchObject({ email: "gone@example.com" });
  } finally {
    await smtp.close();
  }
});

it("says what to set where no link could work, and leaves the earlier invitation as it is", async () => {
  const token = await invitedToken("--operator", "--email", "early@example.com");
  settings = { port: 0 };
  const again = harness.run("console", "invite", "--operator", "--email", "early@example.com");
  await expect(again).rejects.toThrow(
    /^PORT=0: .*Set PORT to the port at which the service listens, or set PUBLIC_URL/,
  );
  expect(await openInvitation({ db: harness.db, clock, ids }, token)).toMatchObject({ email: "early@example.com" });
});

it("refuses an invitation of nobody, and one for a partner that there is not", async () => {
  await expect(harness.run("console", "invite", "--email", "a@example.com")).rejects.toThrow("--partner");
  await expect(harness.run("console", "invite", "--operator", "--email", "nobody")).rejects.toThrow("mail address");
  const unknown = harness.run("console", "invite", "--partner", "none", "--email", "a@example.com");
  await expect(unknown).rejects.toThrow("no such partner");
});

it("resets somebody: signed out everywhere, and let in again by a new invitation", async () => {
  const context = { db: harness.db, clock, ids, signInMethods: ["passkey"] } as const;
  const token = await invitedToken("--operator", "--email", "lost@example.com");
  const { session } = await acceptInvitation(context, token, { signedIn: undefined, name: "Lost" }, (tx, id) =>
    startSession({ ...context, db: tx }, id, { address: "", userAgent: "" }),
  );
  expect(await sessionOf(harness.db, session, clock())).toBeDefined();
  await harness.run("console", "reset", "--email", "lost@example.com");
  expect(await sessionOf(harness.db, session, clock())).toBeUndefined();
  const again = await invitedToken("--operator", "--email", "lost@example.com");
  expect((await openInvitation(context, again)).needsSignIn).toBe(false);
  await expect(harness.run("console", "reset", "--email", "other@example.com")).rejects.toThrow("Nobody");
});
