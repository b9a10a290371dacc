import type { ShownKey } from "@bikeshare/contract/console";

/** Returns the name under which a key is shown. */
export function keyName({ name, prefix, last4 }: Pick<ShownKey, "name" | "prefix" | "last4">): string {
  return name ?? `${prefix}…${last4}`;
}

/** Returns whose key a call had. Until the keys are loaded, the partner's id stands for its name. */
export function ownerName(partnerId: string | null, key: Pick<ShownKey, "partner_name"> | undefined): string {
  return partnerId === null ? "operator" : (key?.partner_name ?? partnerId);
}
