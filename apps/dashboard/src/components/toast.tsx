import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icon.tsx";
import { StatusMark, type Tone } from "./status.tsx";
import "./icon-button.css";
import "./toast.css";

interface Toast {
  readonly id: number;
  readonly tone: Tone;
  readonly text: string;
}

/** How long a toast is shown. Toasts about failures stay until they are closed. */
const SHOWN_MS = 6_000;

let lastId = 0;
let shown: readonly Toast[] = [];
const listeners = new Set<(toasts: readonly Toast[]) => void>();

function publish(toasts: readonly Toast[]): void {
  shown = toasts;
  for (const listener of listeners) listener(toasts);
}

function remove(id: number): void {
  publish(shown.filter((toast) => toast.id !== id));
}

/**
 * Shows the outcome of an action briefly. Important information belongs on the page.
 * @returns a function that closes the toast
 */
export function showToast(tone: Tone, text: string): () => void {
  const id = ++lastId;
  publish([...shown, { id, tone, text }]);
  if (tone !== "danger") setTimeout(() => remove(id), SHOWN_MS);
  return () => remove(id);
}

/**
 * The container of all toasts, once per page. The element always exists, because screen readers announce only changes inside
 * an existing one.
 */
export function Toasts() {
  const [toasts, setToasts] = useState(shown);
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    listeners.add(setToasts);
    return () => void listeners.delete(setToasts);
  }, []);
  useEffect(() => {
    // Hides and shows the container again, so that it is above a dialog that was opened in between.
    ref.current?.hidePopover();
    if (toasts.length > 0) ref.current?.showPopover();
  }, [toasts]);
  return (
    <div ref={ref} class="toasts" role="status" aria-live="polite" popover="manual">
      {toasts.map(({ id, tone, text }) => (
        <div key={id} class="toast">
          <StatusMark tone={tone} />
          <span>{text}</span>
          <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => remove(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
