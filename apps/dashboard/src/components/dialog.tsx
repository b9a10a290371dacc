import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "./icon.tsx";
import "./icon-button.css";
import "./dialog.css";

interface DialogProps {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  /** The buttons. The one that performs the action is the last. */
  readonly actions?: ComponentChildren;
}

/** A question or a form above the page. The browser keeps the focus inside, and returns it when the dialog closes. */
export function Dialog({ title, isOpen, onClose, children, actions }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (dialog === null || dialog.open === isOpen) return;
    if (isOpen) dialog.showModal();
    else dialog.close();
  }, [isOpen]);
  return (
    <dialog ref={ref} class="dialog" aria-labelledby={id} onClose={onClose} {...useCloseOutside(ref)}>
      {isOpen && (
        <div class="dialog-box">
          <header class="dialog-head">
            <h2 id={id}>{title}</h2>
            <button type="button" class="icon-button" aria-label="Close" onClick={() => ref.current?.close()}>
              <Icon name="close" />
            </button>
          </header>
          <div class="dialog-body stack">{children}</div>
          {actions !== undefined && <footer class="dialog-actions">{actions}</footer>}
        </div>
      )}
    </dialog>
  );
}

/**
 * Returns listeners that close a dialog on a press on its backdrop. The target of such a press is the dialog element itself,
 * because the box covers the rest of it. A drag that selects text in the box and ends on the backdrop is a click on the
 * dialog too, but closes nothing: its press began in the box.
 */
export function useCloseOutside(ref: RefObject<HTMLDialogElement | null>) {
  const isPressedOutside = useRef(false);
  return {
    onPointerDown: (event: Event) => void (isPressedOutside.current = event.target === ref.current),
    onClick: (event: Event) => {
      if (event.target === ref.current && isPressedOutside.current) ref.current?.close();
    },
  };
}
