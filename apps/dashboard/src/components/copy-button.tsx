import { useEffect, useState } from "preact/hooks";
import { Icon } from "./icon.tsx";
import "./copy-button.css";

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
  const [result, setResult] = useState<"copied" | "failed">();
  useEffect(() => {
    if (result === undefined) return undefined;
    const timer = setTimeout(() => setResult(undefined), DONE_MS);
    return () => clearTimeout(timer);
  }, [result]);
  const copy = () => {
    navigator.clipboard.writeText(text).then(
      () => setResult("copied"),
      () => setResult("failed"),
    );
  };
  const outcome = { copied: "Copied", failed: "Not copied: select the text instead" };
  return (
    <button
      type="button"
      class={children === undefined ? "copy" : "button button-secondary"}
      title={label}
      onClick={copy}
    >
      <Icon name={result === "copied" ? "check" : "copy"} />
      {children ?? <span class="visually-hidden">{label}</span>}
      <span class="visually-hidden" role="status">
        {result === undefined ? "" : outcome[result]}
      </span>
    </button>
  );
}
