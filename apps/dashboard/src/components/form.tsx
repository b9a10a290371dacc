import type { ComponentChildren } from "preact";
import "./form.css";

interface FormProps {
  readonly children: ComponentChildren;
  /** May return a promise, which settles once the service has answered. */
  readonly onSubmit: () => unknown;
  /**
   * Whether the page validates all fields together. Otherwise the browser validates them, and stops at the first invalid
   * one.
   */
  readonly isChecked?: boolean;
}

/** A form that calls `onSubmit` instead of loading another page. */
export function Form({ children, onSubmit, isChecked = false }: FormProps) {
  const submit = async (event: Event, form: HTMLElement) => {
    event.preventDefault();
    await onSubmit();
    // After the next rendering, which shows the errors that the page or the service has found.
    setTimeout(() => focusWrong(form));
  };
  return (
    <form class="stack" noValidate={isChecked} onSubmit={(event) => void submit(event, event.currentTarget)}>
      {children}
    </form>
  );
}

/** Moves the focus to the first field with an error. A group with an error has `data-wrong`. */
function focusWrong(form: HTMLElement): void {
  const wrong = form.querySelector<HTMLElement>("[aria-invalid], [data-wrong] :is(input, select, textarea, button)");
  // A field inside a closed `<details>` cannot take the focus.
  wrong?.closest("details")?.setAttribute("open", "");
  wrong?.focus();
}
