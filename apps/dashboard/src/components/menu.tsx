import type { ComponentChildren } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import "./menu.css";

interface MenuProps {
  /** The content of the button. */
  readonly button: ComponentChildren;
  /** The accessible name of a button that shows only an icon. */
  readonly label?: string;
  /** Links and buttons, or `MenuItem`s. */
  readonly children: ComponentChildren;
  readonly variant?: "quiet" | "secondary";
}

/** Pixels between the button and its menu. */
const GAP_PX = 4;

/**
 * A button that opens a list of actions in front of the page. The browser closes it on Escape and on a press elsewhere. The
 * items are plain links and buttons: Tab goes through them, the arrow keys do not.
 */
export function Menu({ button, label, children, variant = "quiet" }: MenuProps) {
  const id = useId();
  const buttonRef = useRef<HTMLButtonElement>(null);
  const menuRef = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        ref={buttonRef}
        type="button"
        class={`button button-${variant}`}
        popovertarget={id}
        aria-label={label}
        aria-expanded={isOpen}
      >
        {button}
      </button>
      <div
        ref={menuRef}
        id={id}
        popover="auto"
        class="menu"
        onToggle={(event) => {
          const opens = event.newState === "open";
          setOpen(opens);
          if (opens && buttonRef.current && menuRef.current) placeAtButton(menuRef.current, buttonRef.current);
        }}
        // Closes the menu when one of its items is pressed.
        onClick={(event) => {
          if (event.target instanceof Element && event.target.closest("a, button")) menuRef.current?.hidePopover();
        }}
      >
        {children}
      </div>
    </>
  );
}

/**
 * Places an open popover (a menu, or the box of a filter) below its button where there is room, else above, and inside the
 * window if it fits there.
 */
export function placeAtButton(popover: HTMLElement, button: HTMLElement): void {
  const at = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = popover;
  const below = at.bottom + GAP_PX;
  const top = below + height <= innerHeight ? below : Math.max(GAP_PX, at.top - height - GAP_PX);
  const left = Math.max(GAP_PX, Math.min(at.left, innerWidth - width - GAP_PX));
  popover.style.top = `${top}px`;
  popover.style.left = `${left}px`;
}

interface MenuItemProps {
  readonly children: ComponentChildren;
  readonly onSelect: () => void;
  readonly isDangerous?: boolean;
  readonly isDisabled?: boolean;
  /** Whether the item is the chosen one of several. */
  readonly isChosen?: boolean;
}

/** An action in a `Menu`. A plain link is enough for an item that leads to a page. */
export function MenuItem({ children, onSelect, isDangerous = false, isDisabled = false, isChosen }: MenuItemProps) {
  return (
    <button
      type="button"
      class={isDangerous ? "menu-item menu-danger" : "menu-item"}
      disabled={isDisabled}
      aria-pressed={isChosen}
      onClick={onSelect}
    >
      {children}
    </button>
  );
}
