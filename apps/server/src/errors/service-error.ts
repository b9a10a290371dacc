import type { ErrorCode } from "@bikeshare/contract";

/** A code of the contract's catalogue, or one that only commands meet: no endpoint answers with these. */
export type ServiceErrorCode = ErrorCode | "conflict" | "secrets_file_mismatch";

interface ServiceErrorOptions extends ErrorOptions {
  /** Headers that the answer must carry, such as `WWW-Authenticate`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** After how many seconds the caller may try again, where it makes sense to say so. */
  readonly retryAfterSeconds?: number;
}

/** What was asked for cannot be done, for a reason that the catalogue names. Nothing was changed. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ServiceErrorCode;
  readonly headers: Readonly<Record<string, string>>;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ServiceErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.headers = options.headers ?? {};
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}
