import { type MailOutbox, type MailQueue, type OutboxOptions, startOutbox } from "../../outbound/mail/outbox.ts";
import type { Database } from "../../storage/db/database.ts";
import { claimMail, deleteExpiredMails, deleteMail } from "./failure-mail-queries.ts";

export interface MailOutboxOptions extends Omit<OutboxOptions, "queues" | "addressee"> {
  readonly db: Database;
  /** The systems there are. */
  readonly systems: () => Promise<readonly string[]>;
}

/** Sends the mails to partners whose endpoints fail. */
export function startMailOutbox({ db, systems, ...options }: MailOutboxOptions): MailOutbox {
  const queues = async () => (await systems()).map((systemId) => mailsOf(db, systemId));
  return startOutbox({ ...options, db, queues, addressee: "a partner" });
}

function mailsOf(db: Database, systemId: string): MailQueue {
  return {
    systemId,
    async claim(now, delays) {
      const mail = await claimMail(db, systemId, now, delays);
      return mail && { ...mail, to: mail.email, detail: { partner: mail.partner_id } };
    },
    delete: (id) => deleteMail(db, systemId, id),
    deleteExpired: async (expiry) =>
      (await deleteExpiredMails(db, systemId, expiry)).map((mail) => ({
        ...mail,
        detail: { endpoint: mail.endpoint_id },
      })),
  };
}
