import type { ErrorCode } from "@bikeshare/contract";

/** A verb could not be done, for a reason that the error catalogue names. Nothing was changed. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: ErrorCode;
  /** After how many seconds the caller may try again, where it makes sense to say so. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, message: string, retryAfterSeconds?: number) {
    super(message);
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
