import { issuedInvitation, memberList } from "@bikeshare/contract/console";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { buildAnother } from "../../test/built-app.ts";
import { startSmtpServer } from "../../test/servers/smtp-server.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
import { listActs } from "../audit/queries.ts";

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const operatorPath = () => `/console/v1/systems/${app.systemId}/people`;
const partnerPath = () => `/console/v1/systems/${app.systemId}/partners/${app.partnerId}/people`;

async function peopleSeenBy(person: SignedIn, path: string) {
  const response = await person.call("GET", path);
  expect(response.status).toBe(200);
  return memberList.parse(await response.json());
}

async function membershipOf(person: SignedIn, path: string, reader = person): Promise<string> {
  const { members } = await peopleSeenBy(reader, path);
  return members.find(({ person_id }) => person_id === person.personId)?.id ?? "";
}

it("lets a partner's admin invite, see, change and remove the partner's people, and writes each down", async () => {
  const admin = await signIn(app, { partnerId: app.partnerId });
  const invited = await admin.call("POST", `${partnerPath()}/invitations`, {
    email: "new@example.com",
    role: "viewer",
  });
  const { id, url } = issuedInvitation.parse(await invited.json());
  expect(url).toMatch(/^http:\/\/localhost\/dashboard\/invitation#[\w-]{43}$/);
  expect((await peopleSeenBy(admin, partnerPath())).invitations).toEqual([
    expect.objectContaining({ id, email: "new@example.com", role: "viewer", invited_by: admin.actor }),
  ]);
  expect((await admin.call("DELETE", `${partnerPath()}/invitations/${id}`)).status).toBe(200);
  expect((await admin.call("DELETE", `${partnerPath()}/invitations/${id}`)).status).toBe(404);
  const colleague = await signIn(app, { partnerId: app.partnerId });
  const membership = await membershipOf(colleague, partnerPath());
  expect((await admin.call("PATCH", `${partnerPath()}/${membership}`, { role: "viewer" })).status).toBe(200);
  expect((await colleague.call("DELETE", `${partnerPath()}/${membership}`)).status).toBe(403);
  expect((await admin.call("DELETE", `${partnerPath()}/${membership}`)).status).toBe(200);
  expect((await colleague.call("GET", partnerPath())).status).toBe(404);
  const acts = await listActs(app.db, app.systemId, { actor: admin.actor, limit: 10 });
  expect(acts.map(({ action }) => action).toSorted()).toEqual([
    "invitation.revoked",
    "person.invited",
    "person.removed",
    "person.role_changed",
  ]);
});

it("lets an operator's admin manage a partner's people, and no partner's admin the operator's", async () => {
  const operator = await signIn(app, { partnerId: null });
  const partner = await signIn(app, { partnerId: app.partnerId });
  const ofPartner = `${operatorPath()}?partner_id=${app.partnerId}`;
  const membership = await membershipOf(partner, ofPartner, operator);
  expect(membership).not.toBe("");
  const own = await membershipOf(operator, operatorPath());
  expect((await partner.call("DELETE", `${partnerPath()}/${own}`)).status).toBe(404);
  expect((await partner.call("PATCH", `${partnerPath()}/${own}`, { role: "viewer" })).status).toBe(404);
  const body = { email: "p@example.com", role: "admin", partner_id: "no-such-partner" };
  expect((await operator.call("POST", `${operatorPath()}/invitations`, body)).status).toBe(404);
  expect((await operator.call("DELETE", `${operatorPath()}/${membership}`)).status).toBe(200);
});

it("keeps one admin of the operator, also of two who go at the same time", async () => {
  await app.db.query({ name: "people.clear", text: "delete from memberships where partner_id is null" });
  const admins = [await signIn(app, { partnerId: null }), await signIn(app, { partnerId: null })];
  const ids = await Promise.all(admins.map((admin) => membershipOf(admin, operatorPath())));
  const answers = await Promise.all(
    admins.map((admin, index) => admin.call("DELETE", `${operatorPath()}/${ids[index]}`)),
  );
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  const [last] = admins.filter((_, index) => answers[index]?.status === 409);
  const own = last === undefined ? "" : await membershipOf(last, operatorPath());
  expect((await last?.call("PATCH", `${operatorPath()}/${own}`, { role: "viewer" }))?.status).toBe(409);
});

it("stops a suspended partner's admins from changing anything, but lets them read", async () => {
  const admin = await signIn(app, { partnerId: app.partnerId });
  const setSuspended = (at: Date | null) =>
    app.db.query({ name: "people.suspend", text: "update partners set suspended_at = $2 where id = $1" }, [
      app.partnerId,
      at,
    ]);
  await setSuspended(new Date());
  expect((await admin.call("GET", partnerPath())).status).toBe(200);
  const invitation = { email: "x@example.com", role: "viewer" };
  expect((await admin.call("POST", `${partnerPath()}/invitations`, invitation)).status).toBe(403);
  await setSuspended(null);
});

it("mails an invitation where a mail server is configured, and shows its link to nobody else", async () => {
  const smtp = await startSmtpServer();
  const mail = { smtpUrl: `smtp://127.0.0.1:${smtp.port}`, from: "bikes@example.com" };
  const another = await buildAnother(app, { mail });
  try {
    const admin = await signIn({ ...app, url: another.url }, { partnerId: app.partnerId });
    const invitation = { email: "mailed@example.com", role: "viewer" };
    const response = await admin.call("POST", `${partnerPath()}/invitations`, invitation);
    expect(issuedInvitation.parse(await response.json()).url).toBeNull();
    const [received] = smtp.mails;
    expect(received?.to).toEqual(["<mailed@example.com>"]);
    expect(received?.data.replaceAll("=\r\n", "")).toMatch(/\/dashboard\/invitation#[\w-]{43}/);
    expect(JSON.stringify(another.logged)).not.toContain("invitation#");
  } finally {
    await another.close();
    await smtp.close();
  }
});

it("shows the link where the mail server refuses", async () => {
  const smtp = await startSmtpServer({ answers: { RCPT: "550 no such person" } });
  const mail = { smtpUrl: `smtp://127.0.0.1:${smtp.port}`, from: "bikes@example.com" };
  const another = await buildAnother(app, { mail });
  try {
    const admin = await signIn({ ...app, url: another.url }, { partnerId: app.partnerId });
    const invitation = { email: "refused@example.com", role: "viewer" };
    const response = await admin.call("POST", `${partnerPath()}/invitations`, invitation);
    expect(issuedInvitation.parse(await response.json()).url).toMatch(/invitation#/);
    expect(another.logged).toContainEqual(expect.objectContaining({ level: 40 }));
    expect(JSON.stringify(another.logged)).not.toContain("invitation#");
  } finally {
    await another.close();
    await smtp.close();
  }
});
