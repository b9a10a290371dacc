import { serviceError } from "@bikeshare/rules";
import type { Transaction } from "../../storage/db/database.ts";
import { hasSession } from "../sessions/service.ts";
import { lockPerson, type PersonRow } from "./queries.ts";

/** The person whose account it is, and the session that changes it. */
export interface AccountOwner {
  readonly personId: string;
  readonly sessionId: string;
}

/**
 * Blocks other sign-ins to an account and changes of its credentials until the transaction ends.
 * @throws ServiceError `unauthorized` when the session has ended since it was read, because somebody has taken the account
 * over
 */
export async function lockOwner(tx: Transaction, { personId, sessionId }: AccountOwner): Promise<PersonRow> {
  const person = await lockPerson(tx, personId);
  if (person === undefined || !(await hasSession(tx, sessionId))) throw serviceError("unauthorized", "endedSession");
  return person;
}
