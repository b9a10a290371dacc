/** The command was called with words or values it cannot take; the message says which and what is allowed. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
