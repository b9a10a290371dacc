import { TextField } from "./field.tsx";
import { instantOf, localInput } from "./instant-input.ts";

interface InstantFieldProps {
  readonly label: string;
  /** RFC 3339; undefined or empty: none. */
  readonly value: string | undefined;
  /** Hears the instant that was typed, in UTC; empty: none, or not a whole one yet. */
  readonly onInput: (instant: string) => void;
}

/** A day and time in the reader's zone. */
export function InstantField({ label, value, onInput }: InstantFieldProps) {
  return (
    <TextField
      label={label}
      type="datetime-local"
      value={localInput(value)}
      onInput={(text) => onInput(instantOf(text))}
    />
  );
}
