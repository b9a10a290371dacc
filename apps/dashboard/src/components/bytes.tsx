import "./code.css";

interface BytesProps {
  readonly bytes: Uint8Array;
  readonly label: string;
}

/** Bytes of a row: as many as fit next to their text on a laptop. */
const ROW_BYTES = 16;
/** Rows that are drawn: the 64 KiB that are kept of a response at most. */
const MAX_ROWS = 4_096;

/** Bytes as they were sent: where they stand, in hexadecimal, and as text where they are printable. */
export function Bytes({ bytes, label }: BytesProps) {
  const rows = Array.from({ length: Math.min(MAX_ROWS, Math.ceil(bytes.length / ROW_BYTES)) }, (_, row) => row);
  return (
    <div class="code">
      <pre class="code-text" role="group" aria-label={label} tabIndex={0} dir="ltr">
        {rows.map((row) => {
          const part = bytes.subarray(row * ROW_BYTES, (row + 1) * ROW_BYTES);
          return (
            <span key={row}>
              <span class="bytes-offset">{(row * ROW_BYTES).toString(16).padStart(6, "0")}</span>
              {`  ${hexText(part).padEnd(ROW_BYTES * 3)} ${printable(part)}\n`}
            </span>
          );
        })}
        {bytes.length === 0 && "(no bytes)"}
      </pre>
    </div>
  );
}

function hexText(part: Uint8Array): string {
  return [...part].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
}

function printable(part: Uint8Array): string {
  return [...part].map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·")).join("");
}
