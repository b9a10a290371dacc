import type { AuditLogOwner } from "../db/open.ts";
import { findIsProtected, LENDING, PROTECTION } from "./audit-owner-queries.ts";

/** Keeps the audit log of our own PostgreSQL from the service's role. */
export const auditLogOwner: AuditLogOwner = {
  async protect(db, asSuperuser) {
    if (!(await findIsProtected(db))) await asSuperuser(PROTECTION);
  },
  lend: (asSuperuser) => asSuperuser(LENDING),
};
