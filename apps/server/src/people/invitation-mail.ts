import type { Mail } from "../webhooks/warnings/mailer.ts";

/** What mails, pages and authenticator apps call the service where nobody has named it. */
export const DEFAULT_SERVICE_NAME = "Bike-Sharing Data Service";

/** The mail that brings an invitation's link. */
export function invitationMail(invitation: {
  readonly id: string;
  readonly email: string;
  readonly serviceName: string;
  readonly url: string;
  readonly expiresAt: Date;
}): Mail {
  const { id, email, serviceName, url, expiresAt } = invitation;
  const text = [
    `You are invited to the dashboard of ${serviceName}.`,
    "",
    `  ${url}`,
    "",
    `The link works once, until ${expiresAt.toISOString()}. Give it to nobody else.`,
    "If you did not expect it, do nothing: without the link nobody gets in.",
    "",
  ];
  return { id, to: email, subject: `Your invitation to ${serviceName}`, text: text.join("\n") };
}
