import { useEffect, useState } from "preact/hooks";
import { TextField } from "../../components/field.tsx";

interface FilterFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onFilter: (value: string) => void;
  readonly placeholder?: string;
  readonly type?: "search" | "datetime-local";
}

/** Too low: each typed letter makes a request. */
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
