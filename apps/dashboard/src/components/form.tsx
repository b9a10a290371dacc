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
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}
