import { useEffect, useState } from "preact/hooks";
import { TextField } from "../../components/field.tsx";

interface FilterFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onFilter: (value: string) => void;
  readonly placeholder?: string;
  readonly type?: "search" | "datetime-local";
}

/** Shorter, and each letter that is typed asks the server. */
const PAUSE_MS = 350;

/** A text that a list is filtered by, once the reader pauses. */
export function FilterField({ label, value, onFilter, placeholder, type = "search" }: FilterFieldProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => onFilter(text.trim()), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <TextField
      label={label}
      type={type}
      value={text}
      onInput={setText}
      {...(placeholder !== undefined && { placeholder })}
    />
  );
}

/** An instant as a box for dates takes it, in the reader's zone; and back. */
export function localText(instant: string): string {
  const at = new Date(instant);
  if (instant === "" || Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export function instantText(local: string): string {
  const at = new Date(local);
  return local === "" || Number.isNaN(at.getTime()) ? "" : at.toISOString();
}
