/** Finds the field of a form that an error of the service is about, so that the form shows the error there. */
import { useState } from "preact/hooks";
import { ApiError } from "../api/errors.ts";

/** The error of a value that the service rejects, with the path of its field: `rental_apps.ios.store_uri`. */
export interface Refusal {
  readonly path: string;
  readonly message: string;
}

/** Tells whether a path is that of a field, or of a part of it. */
export function isWithin(path: string, field: string): boolean {
  // A part begins with a dot or a bracket: `rules[0].name` is within `rules`.
  return path.startsWith(field) && /^($|[.[])/.test(path.slice(field.length));
}

/**
 * Runs a change. Returns the error of the field that the service rejects; undefined if the change succeeded. The service's
 * message begins with the path of the field. Throws every other failure.
 * @param hasField tells whether the form has a field for a path
 */
export async function refusalOf(
  change: () => Promise<void>,
  hasField: (path: string) => boolean = () => true,
): Promise<Refusal | undefined> {
  try {
    await change();
    return undefined;
  } catch (failure) {
    if (!(failure instanceof ApiError) || failure.code !== "invalid_parameter") throw failure;
    // The path, and the message about its value: `time_zone must be a name of the IANA list`.
    const [, path, message = ""] = /^(\S+) ((?:cannot|must) .*)$/s.exec(failure.message) ?? [];
    if (path === undefined || !hasField(path)) throw failure;
    return { path, message: message.replace(/^./, (letter) => letter.toUpperCase()) };
  }
}

/** What `useRefusal` returns. */
export type Refusals = ReturnType<typeof useRefusal>;

/**
 * Keeps the error of one of a form's values, which are named as in the request. `refusing` runs a change, and throws what is
 * not about a value. `errorOf` returns the error of a field until the reader changes a value.
 */
export function useRefusal(values: object) {
  const [refused, setRefused] = useState<Refusal & { readonly sentValues: string }>();
  const currentValues = JSON.stringify(values);
  const refusing = async (change: () => Promise<void>) => {
    const refusal = await refusalOf(change, (path) => Object.keys(values).some((name) => isWithin(path, name)));
    setRefused(refusal && { ...refusal, sentValues: currentValues });
  };
  const errorOf = (field: string) =>
    refused?.sentValues === currentValues && isWithin(refused.path, field) ? refused.message : undefined;
  return { refusing, errorOf };
}
