import { type BikeShareError, ConnectionError, TimeoutError } from "../errors/errors.ts";

/** Whether sending the same again may help, where that is safe. */
export function isPassing(error: BikeShareError): boolean {
  const { status = 0, code } = error;
  const isNetwork = error instanceof ConnectionError || error instanceof TimeoutError;
  return isNetwork || status >= 500 || status === 408 || status === 429 || code === "idempotency_in_progress";
}
