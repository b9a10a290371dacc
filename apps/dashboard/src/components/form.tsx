import type { ComponentChildren } from "preact";
import "./form.css";

interface FormProps {
  readonly children: ComponentChildren;
  readonly onSubmit: () => void;
}

/** A form that the page itself sends, after the browser has checked its fields. */
export function Form({ children, onSubmit }: FormProps) {
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}
