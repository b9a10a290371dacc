import { CopyButton } from "./copy-button.tsx";
import "./code.css";

interface CodeProps {
  readonly text: string;
  /** The name of the code: "The body that was sent". */
  readonly label: string;
  /** Whether long lines are broken. */
  readonly wrap?: boolean;
}

/** A text shown verbatim, in a fixed width. Never as HTML, since it may come from others. */
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

/** A sentence of ours in which commands stand between backticks. */
export function Sentence({ children }: { readonly children: string }) {
  return <>{children.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}

/** Characters that would reorder, hide or move text. Line breaks and tabs stay. */
const INVISIBLE = /(?![\n\r\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A text in which invisible characters are written as their code points. */
export function visibleControls(text: string): string {
  return text.replaceAll(INVISIBLE, (character) => `\u27e8${codePoint(character)}\u27e9`);
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
