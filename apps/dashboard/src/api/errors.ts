/** Failures between the pages and the server, and the texts that describe them. */
import { lookUp } from "../components/look-up.ts";

/** An error response of the server, or of a proxy in front of it. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  /** A code of the error catalogue; `unexpected` if the response had none, for example because a proxy sent it. */
  readonly code: string;
  /** The id by which the operator finds the request. */
  readonly requestId: string | undefined;
  /** Seconds after which to try again, if the server gives them. */
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, answer: Pick<ApiError, "status" | "code" | "requestId" | "retryAfterSeconds">) {
    super(message);
    this.status = answer.status;
    this.code = answer.code;
    this.requestId = answer.requestId;
    this.retryAfterSeconds = answer.retryAfterSeconds;
  }
}

/** No complete response arrived. The server may have handled the request all the same. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
}

/** The texts about a failure. `requestId` is undefined if no response named one. */
export interface ErrorDescription {
  readonly title: string;
  readonly message: string;
  readonly requestId: string | undefined;
}

/** The title of a failure, by the error's code. */
const titles: Readonly<Record<string, string>> = {
  forbidden: "Read-only access",
  not_found: "Not found",
  confirmation_required: "Confirm your identity first",
  unauthorized: "Sign-in failed",
  rate_limited: "Too many requests",
  unavailable: "The service is unavailable",
  internal: "Something went wrong on our side",
};

/** Returns the texts with which a page describes a failure. */
export function describeError(error: unknown): ErrorDescription {
  if (error instanceof ApiError) {
    return {
      title: lookUp(titles, error.code) ?? "The request failed",
      message: error.message,
      requestId: error.requestId,
    };
  }
  if (error instanceof ConnectionError) {
    return {
      title: "No connection",
      message: "The server could not be reached. The page reconnects by itself.",
      requestId: undefined,
    };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { title: "This page crashed", message: `${message}. Reload it to try again.`, requestId: undefined };
}

/** Tells whether a retry may help: after a failed connection or a 5xx, but not after a 4xx. */
export function isWorthRetrying(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof ApiError && error.status >= 500);
}
