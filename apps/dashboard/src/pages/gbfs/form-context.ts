import type { FactKind } from "@bikeshare/contract/facts";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Choice } from "../../components/field.tsx";
import { isWithin, type Refusal } from "../refusal.ts";

interface FormContext {
  /** The errors that the form and the service have found, each with the path of its field. */
  readonly errors: readonly Refusal[];
  /** The language of texts that name none. */
  readonly language: string;
  /** The things that an id may refer to, by kind. */
  readonly choices: { readonly [Kind in FactKind]?: readonly Choice[] };
}

/** Passes errors, language and choices from a form to the inputs of its facts (values that GBFS publishes about a thing). */
export const FormContext = createContext<FormContext>({ errors: [], language: "en", choices: {} });

/** Returns the error of a field. @param isGroup whether the nested fields show their own errors */
export function useFactError(path: string, isGroup = false): string | undefined {
  const { errors } = useContext(FormContext);
  return errors.find((error) => (isGroup ? error.path === path : isWithin(error.path, path)))?.message;
}
