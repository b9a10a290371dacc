import type { Ids } from "../../ids.ts";
import type { Mail, Mailer } from "../../outbound/mail/mailer.ts";

/** The default name of the service in mails, pages and authenticator apps. */
export const DEFAULT_SERVICE_NAME = "Bike-Sharing Data Service";

/** Returns the mail that brings an invitation's link. */
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

/** Returns the mail about the credentials that an account has lost because its address was proved for the first time. */
function credentialsRemovedMail(account: {
  readonly id: string;
  readonly email: string;
  readonly serviceName: string;
  /** The name of the identity provider that proved the address, or the link of an invitation. */
  readonly by: string;
}): Mail {
  const { id, email, serviceName, by } = account;
  const text = [
    `You have signed in to the dashboard of ${serviceName} by ${by}, which proves for the first time that this address`,
    "is yours.",
    "",
    "Every passkey, password and session that the account had before was removed: somebody else may have made them. If",
    "they were yours, add them again on the page Account.",
    "",
    "If it was not you who signed in, tell whoever runs the service.",
    "",
  ];
  return { id, to: email, subject: `Your account at ${serviceName}`, text: text.join("\n") };
}

/**
 * Mails a person that their account has lost its credentials. Signing in does not wait for the mail server.
 * @param by how the address was proved
 */
export function mailRemoved(
  {
    mailer,
    logger,
    serviceName,
    ids,
  }: {
    readonly mailer: Mailer | undefined;
    readonly logger: { warn(detail: object, message: string): void };
    readonly serviceName: string;
    readonly ids: Ids;
  },
  person: { readonly id: string; readonly email: string },
  by: string,
): void {
  const mail = credentialsRemovedMail({ id: ids.next("mail"), email: person.email, serviceName, by });
  mailer?.send(mail).catch((error: unknown) => {
    logger.warn({ err: error, person: person.id }, "a mail on removed credentials could not be sent");
  });
}
