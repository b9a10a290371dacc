import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import "./field.css";

interface FieldProps {
  readonly label: string;
  /** Describes the expected value. */
  readonly hint?: ComponentChildren;
  /** The error, and how to correct it. */
  readonly error?: string | undefined;
  readonly required?: boolean | undefined;
}

/** Attributes that tie a control to its label, hint and error. */
interface ControlAttributes {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": boolean | undefined;
  readonly "aria-required": boolean | undefined;
}

interface CustomFieldProps extends FieldProps {
  readonly children: (control: ControlAttributes) => ComponentChildren;
}

/** A label, a control, its hint and its error. `TextField` and `SelectField` use it. */
export function Field({ label, hint, error, required, children }: CustomFieldProps) {
  const id = useId();
  const described = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean);
  return (
    <div class="field">
      <label for={id} data-required={required}>
        {label}
      </label>
      {children({
        id,
        "aria-describedby": described.length > 0 ? described.join(" ") : undefined,
        "aria-invalid": error === undefined ? undefined : true,
        "aria-required": required,
      })}
      {hint !== undefined && (
        <p id={`${id}-hint`} class="field-hint">
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p id={`${id}-error`} class="field-error" role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

type TextKind = "text" | "email" | "password" | "search" | "url" | "datetime-local" | "number" | "date";

interface TextFieldProps extends FieldProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: TextKind;
  readonly name?: string;
  readonly autocomplete?: string;
  readonly placeholder?: string;
  readonly inputMode?: "numeric" | "text";
  readonly minLength?: number;
  readonly maxLength?: number;
  /** The bounds of a number, or the first instant that may be chosen. */
  readonly min?: number | string | undefined;
  readonly max?: number;
  /** A regular expression for the whole text. */
  readonly pattern?: string;
  /** Uses a monospaced font, for ids, addresses and secrets. */
  readonly monospace?: boolean;
}

/** An input for one line of text. */
export function TextField(props: TextFieldProps) {
  const { label, hint, error, required, value, onInput, type = "text", monospace = false } = props;
  // The types of JSX want one literal `type`. All types that are used here take a text.
  const kind = { type } as { readonly type: "text" };
  return (
    <Field label={label} hint={hint} error={error} required={required}>
      {(control) => (
        <input
          {...control}
          class={monospace ? "control control-mono" : "control"}
          {...kind}
          value={value}
          name={props.name}
          autocomplete={props.autocomplete}
          placeholder={props.placeholder}
          required={required}
          inputMode={props.inputMode}
          minLength={props.minLength}
          maxLength={props.maxLength}
          min={props.min}
          max={props.max}
          pattern={props.pattern}
          spellcheck={false}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** A value that a field offers, with the text that the reader sees. */
export interface Choice {
  readonly value: string;
  readonly label: string;
}

interface SelectFieldProps extends FieldProps {
  readonly value: string;
  readonly choices: readonly Choice[];
  readonly onChange: (value: string) => void;
}

/** A `<select>` of a few choices. */
export function SelectField({ label, hint, error, value, choices, onChange }: SelectFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <select {...control} class="control" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface CheckboxProps {
  readonly label: ComponentChildren;
  readonly hint?: string;
  readonly checked: boolean;
  readonly disabled?: boolean;
  readonly onChange: (checked: boolean) => void;
}

/** A checkbox with its label beside it and its hint below. */
export function Checkbox({ label, hint, checked, disabled, onChange }: CheckboxProps) {
  const id = useId();
  return (
    <div class="checkbox">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        disabled={disabled}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      {hint !== undefined && (
        <p id={`${id}-hint`} class="field-hint">
          {hint}
        </p>
      )}
    </div>
  );
}
