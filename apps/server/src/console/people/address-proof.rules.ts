/** The scope of a membership: a partner of a system, or with null its operator. */
interface Reach {
  readonly systemId: string;
  readonly partnerId: string | null;
}

/** How the person who holds an account proved that its address is theirs. */
export interface AddressProof {
  /** By a link that was mailed, by an identity whose address the provider had verified, or by a link of the operator's. */
  readonly by: "mail" | "identity" | "operator";
  /** Of a link of the operator's: the system whose operator vouches for the person. Null: it counts in every system. */
  readonly systemId: string | null;
}

/** How an account's address is proved, as its row says; null: not at all. */
export function proofOf(row: {
  readonly proof: string | null;
  readonly proof_system_id: string | null;
}): AddressProof | null {
  const { proof, proof_system_id: systemId } = row;
  return proof === "mail" || proof === "identity" || proof === "operator" ? { by: proof, systemId } : null;
}

/**
 * Returns the proof of address that opening an invitation's link gives; null: none, because a partner's admin has seen the
 * link.
 */
export function proofOfLink(invitation: {
  readonly system_id: string;
  readonly proves: string | null;
  readonly created_by: string;
}): AddressProof | null {
  const { system_id: systemId, proves, created_by: maker } = invitation;
  if (proves === "mail") return { by: "mail", systemId: null };
  // A user of the command line has access to the database, and so to every system.
  return proves === "operator" ? { by: "operator", systemId: isCommandLine(maker) ? null : systemId } : null;
}

/** Whether an actor of the audit log is somebody at the command line. */
export function isCommandLine(actor: string): boolean {
  return actor.startsWith("cli:");
}

/** Whether a proof counts for everything that an account opens: an operator vouches for nobody in another's system. */
export function covers(proof: AddressProof | null, reach: readonly Pick<Reach, "systemId">[]): boolean {
  if (proof === null) return false;
  return proof.systemId === null || reach.every(({ systemId }) => systemId === proof.systemId);
}

/** An account, as far as it decides what a link does to it. */
export interface AccountState {
  readonly proof: AddressProof | null;
  readonly hasCredentials: boolean;
  /** The memberships that the account already has. */
  readonly memberships: readonly Reach[];
}

/**
 * What opening a link does to an account that exists:
 * - `takes_over`: it is the first to prove the address. Whoever held the account before loses it.
 * - `opens`: it signs in, and ends the sessions there are, because there is nothing else to sign in with.
 * - `needs_sign_in`: nothing, unless the browser is signed in to the account.
 */
export type Opening = "takes_over" | "opens" | "needs_sign_in";

export function openingOf(
  link: Reach & { readonly proof: AddressProof | null },
  { proof, hasCredentials, memberships }: AccountState,
): Opening {
  const reach = [...memberships, link];
  const isProved = covers(proof, reach);
  if (covers(link.proof, reach)) {
    if (!isProved) return "takes_over";
    return hasCredentials ? "needs_sign_in" : "opens";
  }
  // A partner's admin may have opened it: it opens no account but one that this admin alone could have given.
  const isMakers = reach.every(
    ({ systemId, partnerId }) => systemId === link.systemId && partnerId === link.partnerId && partnerId !== null,
  );
  return link.proof === null && proof === null && isMakers && !hasCredentials ? "opens" : "needs_sign_in";
}
