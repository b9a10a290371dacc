import { TextField } from "./field.tsx";
import { instantOf, localInput } from "./instant-input.ts";

interface InstantFieldProps {
  readonly label: string;
  /** In RFC 3339. Undefined or empty: no instant. */
  readonly value: string | undefined;
  /** Called with the typed instant in UTC. Empty: the field is empty or incomplete. */
  readonly onInput: (instant: string) => void;
  /** The first instant that may be chosen. Undefined or empty: any. */
  readonly min?: string | undefined;
}

/** An input for a date and time, in the zone in which the pages show times (`time-zone.ts`). */
export function InstantField({ label, value, onInput, min }: InstantFieldProps) {
  return (
    <TextField
      label={label}
      type="datetime-local"
      value={localInput(value)}
      min={localInput(min)}
      onInput={(text) => onInput(instantOf(text))}
    />
  );
}
