import type { ShownKey } from "@bikeshare/contract/console";

/** Returns the name under which a key is shown. */
export function keyName({ name, prefix, last4 }: Pick<ShownKey, "name" | "prefix" | "last4">): string {
  return name ?? `${prefix}…${last4}`;
}
