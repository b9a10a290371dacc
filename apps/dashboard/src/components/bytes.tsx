import "./code.css";

interface BytesProps {
  readonly bytes: Uint8Array;
  readonly label: string;
}

/** Bytes in each row: as many as fit next to their text on a laptop. */
const ROW_BYTES = 16;
/** Most rows that are drawn: enough for the 64 KiB that the service keeps of a response at most. */
const MAX_ROWS = 4_096;

/** A hex dump of bytes: each row has the offset, the bytes in hexadecimal, and the printable ones as text. */
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
