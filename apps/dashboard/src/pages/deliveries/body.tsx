import type { ShownBytes } from "@bikeshare/contract/console";
import { useState } from "preact/hooks";
import { Bytes } from "../../components/bytes.tsx";
import { Code } from "../../components/code.tsx";
import { Notice } from "../../components/notice.tsx";
import { Tabs } from "../../components/tabs.tsx";

interface BodyProps {
  readonly label: string;
  readonly body: ShownBytes;
}

/**
 * Shows a body that was sent or received: formatted if it is JSON, unchanged, or in hexadecimal. Nothing in it is
 * interpreted as HTML.
 */
export function Body({ label, body }: BodyProps) {
  const [view, setView] = useState("pretty");
  const bytes = bytesOf(body);
  const text = body.encoding === "utf-8" ? body.text : undefined;
  const pretty = text === undefined ? undefined : formatJson(text);
  const tabs = [
    ...(pretty === undefined
      ? []
      : [{ id: "pretty", label: "Pretty", content: () => <Code text={pretty} label={label} /> }]),
    ...(text === undefined ? [] : [{ id: "raw", label: "Raw", content: () => <Code text={text} label={label} /> }]),
    { id: "hex", label: "Hex", content: () => <Bytes bytes={bytes} label={`${label}, in hexadecimal`} /> },
  ];
  if (bytes.length === 0) return <p class="muted">No body.</p>;
  return (
    <div class="stack">
      <Tabs label={label} tabs={tabs} selected={view} onSelect={setView} />
      {body.truncated && <Notice tone="info">Truncated: only the beginning is kept.</Notice>}
    </div>
  );
}

/** Returns the bytes of a body. */
function bytesOf({ encoding, text }: ShownBytes): Uint8Array {
  if (encoding === "utf-8") return new TextEncoder().encode(text);
  const binary = atob(text);
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

/**
 * Returns JSON with line breaks. Undefined: the text is not JSON, or has 16 digits in a row, which may be a number that
 * parsing would change.
 */
function formatJson(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return /\d{16}/.test(text) ? undefined : JSON.stringify(value, null, 2);
  } catch {
    return undefined;
  }
}
