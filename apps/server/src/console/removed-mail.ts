import type { ConsoleContext } from "./context.ts";
import { credentialsRemovedMail } from "./people/mails.ts";

/**
 * Mails a person that their account has lost its credentials. Signing in does not wait for the mail server.
 * @param by how the address was proved
 */
export function mailRemoved(
  { mailer, logger, serviceName, ids }: Pick<ConsoleContext, "mailer" | "logger" | "serviceName" | "ids">,
  person: { readonly id: string; readonly email: string },
  by: string,
): void {
  const mail = credentialsRemovedMail({ id: ids.next("mail"), email: person.email, serviceName, by });
  mailer?.send(mail).catch((error: unknown) => {
    logger.warn({ err: error, person: person.id }, "a mail on removed credentials could not be sent");
  });
}
