import type { ErrorCode } from "../wire.generated.ts";
import { type ApiError, type BikeShareError, FAMILY } from "./errors.ts";

/**
 * Whether a value is an error of this package, be it of another copy of it, where `instanceof` fails. Its `name` tells
 * the kind.
 */
export function isBikeShareError(value: unknown): value is BikeShareError {
  return familyOf(value) !== undefined;
}

/**
 * Whether a value is an error that the service answered with, be it of another copy of this package, and, where a code
 * is given, that very one.
 *
 * @example if (isApiError(error, "no_bike_available")) return tryAnotherStation();
 */
export function isApiError<Code extends ErrorCode>(
  value: unknown,
  code?: Code,
): value is ApiError & { readonly code: Code } {
  return familyOf(value) === true && (!code || (value as ApiError).code === code);
}

function familyOf(value: unknown): boolean | undefined {
  return (value as { readonly [FAMILY]?: boolean } | null | undefined)?.[FAMILY];
}
