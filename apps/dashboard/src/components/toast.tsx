import { useEffect, useState } from "preact/hooks";
import { Icon } from "./icon.tsx";
import { StatusMark, type Tone } from "./status.tsx";
import "./toast.css";

interface Toast {
  readonly id: number;
  readonly tone: Tone;
  readonly text: string;
}

/** How long a toast stays. Those that report a failure stay until they are closed. */
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

/** Says in passing how something has gone. What must not be missed belongs on the page. */
export function showToast(tone: Tone, text: string): void {
  const id = ++lastId;
  publish([...shown, { id, tone, text }]);
  if (tone !== "danger") setTimeout(() => remove(id), SHOWN_MS);
}

/** The place of all toasts, once a page. It is always there: screen readers announce only what appears in it. */
export function Toasts() {
  const [toasts, setToasts] = useState(shown);
  useEffect(() => {
    listeners.add(setToasts);
    return () => void listeners.delete(setToasts);
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.map(({ id, tone, text }) => (
        <div key={id} class="toast">
          <StatusMark tone={tone} />
          <span>{text}</span>
          <button type="button" class="copy" aria-label="Dismiss" onClick={() => remove(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
