/** Our own PostgreSQL could not be started, joined or stopped. The message says what to do. */
export class EmbeddedPostgresError extends Error {
  override readonly name = "EmbeddedPostgresError";
}

/** The code of a failed system call (`ENOENT`, `EACCES`, …), if the error is one. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
