/** The scope of a membership: a partner of a system, or with null its operator. */
interface Reach {
  readonly systemId: string;
  readonly partnerId: string | null;
}

/** The proof that an account's address belongs to its person. */
export interface AddressProof {
  /**
   * The kind of proof: a mailed link, an identity with an address that the provider has verified, or a link from the
   * operator.
   */
  readonly by: "mail" | "identity" | "operator";
  /** The system whose operator vouches for the person, for a link from the operator. Null: the proof counts in every system. */
  readonly systemId: string | null;
}

/** Returns the proof of an account's address, from its row; null: there is none. */
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

/** Tells whether an actor of the audit log is somebody at the command line. */
export function isCommandLine(actor: string): boolean {
  return actor.startsWith("cli:");
}

/**
 * Tells whether a proof counts for all memberships of an account: an operator cannot vouch for people in another's system.
 */
export function covers(proof: AddressProof | null, reach: readonly Pick<Reach, "systemId">[]): boolean {
  if (proof === null) return false;
  return proof.systemId === null || reach.every(({ systemId }) => systemId === proof.systemId);
}

/** The properties of an account that decide the effect of a link. */
export interface AccountState {
  readonly proof: AddressProof | null;
  readonly hasCredentials: boolean;
  /** The memberships that the account already has. */
  readonly memberships: readonly Reach[];
}

/**
 * The effect of opening a link on an existing account:
 * - `takes_over`: it is the first proof of the address. The earlier holder of the account loses it.
 * - `opens`: it signs in, and ends the existing sessions, because the account has no other credential.
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
