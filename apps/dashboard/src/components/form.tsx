import type { ComponentChildren } from "preact";
import "./form.css";

interface FormProps {
  readonly children: ComponentChildren;
  readonly onSubmit: () => void;
  /** Whether the page checks the fields, all at once, rather than the browser, which stops at the first. */
  readonly isChecked?: boolean;
}

/** A form that the page itself sends, after the browser has checked its fields. */
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
