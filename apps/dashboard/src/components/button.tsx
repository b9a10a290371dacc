import type { ComponentChildren } from "preact";
import { Link } from "wouter-preact";
import "./button.css";

type Variant = "primary" | "secondary" | "danger" | "quiet";

interface ButtonProps {
  readonly children: ComponentChildren;
  readonly variant?: Variant;
  readonly type?: "button" | "submit";
  /** Whether the action is in progress. The button then shows that, and cannot be pressed again. */
  readonly pending?: boolean;
  readonly disabled?: boolean;
  /** The accessible name of a button that shows only an icon. */
  readonly label?: string;
  readonly title?: string;
  readonly onClick?: (event: MouseEvent) => void;
}

/** A control that does something. A control that leads to a page is a `ButtonLink`. */
export function Button(props: ButtonProps) {
  const { children, variant = "secondary", type = "button", pending = false, disabled = false } = props;
  return (
    <button
      type={type}
      class={`button button-${variant}`}
      // Not `disabled` while pending, because a disabled button loses the focus.
      disabled={disabled}
      aria-disabled={pending}
      aria-busy={pending}
      aria-label={props.label}
      title={props.title}
      onClick={(event) => {
        // Keeps a submit button from submitting its form again.
        if (pending) event.preventDefault();
        else props.onClick?.(event);
      }}
    >
      {pending && <span class="spinner" />}
      {children}
    </button>
  );
}

interface ButtonLinkProps {
  readonly children: ComponentChildren;
  readonly href: string;
  readonly variant?: Variant;
  /** The key that follows the link (`shortcuts.tsx`). */
  readonly shortcut?: string | undefined;
}

/** A link to a page that looks like a button. */
export function ButtonLink({ children, href, variant = "secondary", shortcut }: ButtonLinkProps) {
  return (
    <Link href={href} className={`button button-${variant}`} aria-keyshortcuts={shortcut}>
      {children}
    </Link>
  );
}
