import { CopyButton } from "./copy-button.tsx";
import "./code.css";

interface CodeProps {
  readonly text: string;
  /** The name of the code: "The body that was sent". */
  readonly label: string;
  /** Whether long lines are broken. */
  readonly wrap?: boolean;
}

/**
 * A text in a monospaced font. It is never interpreted as HTML, because others may have written it, and its invisible
 * characters are shown as code points. Copying copies it unchanged.
 */
export function Code({ text, label, wrap = true }: CodeProps) {
  return (
    <div class="code">
      <pre class={wrap ? "code-text code-wrap" : "code-text"} role="group" aria-label={label} tabIndex={0} dir="ltr">
        {visibleControls(text)}
      </pre>
      <div class="code-copy">
        <CopyButton text={text} label={`Copy: ${label}`} />
      </div>
    </div>
  );
}

/** A sentence, with the parts between backticks as code. */
export function Sentence({ children }: { readonly children: string }) {
  return <>{children.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}

/** Invisible characters, which could reorder or hide text. Line breaks and tabs are not among them. */
const INVISIBLE = /(?![\n\r\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Returns a text with its invisible characters replaced by their code points. */
export function visibleControls(text: string): string {
  return text.replaceAll(INVISIBLE, (character) => `\u27e8${codePoint(character)}\u27e9`);
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
