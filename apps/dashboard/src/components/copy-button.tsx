import { useEffect, useState } from "preact/hooks";
import { Icon } from "./icon.tsx";
import { showToast } from "./toast.tsx";
import "./icon-button.css";

interface CopyButtonProps {
  readonly text: string;
  /** The tooltip, which names the copied text: "Copy the delivery's id". */
  readonly label: string;
  /** A text beside the icon. */
  readonly children?: string;
}

/** How long the button confirms that it has copied. */
const DONE_MS = 2_000;

/** Copies a text, and shows whether that succeeded. */
export function CopyButton({ text, label, children }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), DONE_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      // The browser refuses it in some frames, and offers no clipboard to a page without HTTPS.
      showToast("danger", "Not copied: select the text instead.");
    }
  };
  return (
    <button
      type="button"
      class={children === undefined ? "icon-button" : "button button-secondary"}
      title={label}
      onClick={() => void copy()}
    >
      <Icon name={isCopied ? "check" : "copy"} />
      {children ?? <span class="visually-hidden">{label}</span>}
      <span class="visually-hidden" role="status">
        {isCopied ? "Copied" : ""}
      </span>
    </button>
  );
}
