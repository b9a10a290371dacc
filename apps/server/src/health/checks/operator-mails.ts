import { systemsOf } from "../../city/systems/service.ts";
import type { MailQueue } from "../../outbound/mail/outbox.ts";
import type { Database } from "../../storage/db/database.ts";
import { claimOperatorMail, deleteExpiredOperatorMails, deleteOperatorMail } from "./mail-queries.ts";

export { insertOperatorMails } from "./mail-queries.ts";

/** The mails to the operator. They are no system's; the first one's list has those that end processes. */
export async function operatorMailQueues(db: Database): Promise<MailQueue[]> {
  return (await systemsOf(db)).slice(0, 1).map((system) => queueOf(db, system.system_id));
}

function queueOf(db: Database, systemId: string): MailQueue {
  return {
    systemId,
    async claim(now, delays) {
      const mail = await claimOperatorMail(db, now, delays);
      return mail && { ...mail, to: mail.address, detail: {} };
    },
    delete: (id) => deleteOperatorMail(db, id),
    deleteExpired: async (expiry) =>
      (await deleteExpiredOperatorMails(db, expiry)).map((mail) => ({ ...mail, detail: {} })),
  };
}
