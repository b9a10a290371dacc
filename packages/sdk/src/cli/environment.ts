/** Everything that the program uses of its process. main.ts makes it; tests pass another one. */
export interface Environment {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: WritableText;
  readonly stderr: WritableText;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly randomBytes: (size: number) => Uint8Array;
  /** Waits some milliseconds, or until the signal aborts: then it rejects. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly readFile: (path: string) => Promise<string>;
  /** Aborts when the process is told to stop (SIGINT, SIGTERM). */
  readonly stopped: AbortSignal;
}

interface WritableText {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}
