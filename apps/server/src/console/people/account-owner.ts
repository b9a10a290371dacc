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
 * Holds off whoever else signs in to an account or changes how, until the transaction ends.
 * @throws ServiceError `unauthorized` when the session has ended since it was looked at: somebody has taken the account over
 */
export async function lockOwner(tx: Transaction, { personId, sessionId }: AccountOwner): Promise<PersonRow> {
  const person = await lockPerson(tx, personId);
  if (person === undefined || !(await hasSession(tx, sessionId))) throw serviceError("unauthorized", "endedSession");
  return person;
}
