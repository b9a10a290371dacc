import type { ComponentChildren } from "preact";
import "./form.css";

interface FormProps {
  readonly children: ComponentChildren;
  readonly onSubmit: () => void;
  /**
   * Whether the page validates all fields together. Otherwise the browser validates them, and stops at the first invalid
   * one.
   */
  readonly isChecked?: boolean;
}

/** A form that calls `onSubmit` instead of loading another page. */
export function Form({ children, onSubmit, isChecked = false }: FormProps) {
  return (
    <form
      class="stack"
      noValidate={isChecked}
      onSubmit={(event) => {
        event.preventDefault();
        const { currentTarget: form } = event;
        onSubmit();
        // After the next rendering, which shows the errors that were found.
        setTimeout(() => focusWrong(form));
      }}
    >
      {children}
    </form>
  );
}

/** Moves the focus to the first field with an error. A group with an error has `data-wrong`. */
export function focusWrong(form: HTMLElement | null): void {
  form?.querySelector<HTMLElement>("[aria-invalid], [data-wrong] :is(input, select, textarea, button)")?.focus();
}
