import type { FactKind } from "@bikeshare/contract/facts";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { ApiError } from "../../api/errors.ts";
import type { Choice } from "../../components/field.tsx";

/** An error of a fact, with the path of the field: `rental_apps.ios.store_uri`. */
export interface FactError {
  readonly path: string;
  readonly message: string;
}

interface FormContext {
  readonly errors: readonly FactError[];
  /** The language of texts that name none. */
  readonly language: string;
  /** The things that an id may refer to, by kind. */
  readonly choices: { readonly [Kind in FactKind]?: readonly Choice[] };
}

/** Passes errors, language and choices from a form to the inputs of its facts. */
export const FormContext = createContext<FormContext>({ errors: [], language: "en", choices: {} });

/** Returns the error of a field. @param isGroup whether the nested fields show their own errors */
export function useFactError(path: string, isGroup = false): string | undefined {
  const { errors } = useContext(FormContext);
  const isWithin = (of: string) => of.startsWith(path) && /^($|[.[])/.test(of.slice(path.length));
  return errors.find((error) => (isGroup ? error.path === path : isWithin(error.path)))?.message;
}

/**
 * Runs a change. Returns the error of the field that the service rejects; undefined if the change succeeded. The service's
 * message begins with the path of the field. Throws every other failure.
 */
export async function refusalOf(change: () => Promise<void>): Promise<FactError | undefined> {
  try {
    await change();
    return undefined;
  } catch (failure) {
    const isRefused = failure instanceof ApiError && failure.code === "invalid_parameter";
    const [, path, said = ""] = (isRefused && /^(\S+) ((?:cannot|must) .*)$/s.exec(failure.message)) || [];
    if (path === undefined) throw failure;
    return { path, message: said.replace(/^./, (letter) => letter.toUpperCase()) };
  }
}
