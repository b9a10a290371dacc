import type { ErrorCode } from "@bikeshare/contract";

/** A verb could not be done, for a reason that the error catalogue names. Nothing was changed. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
