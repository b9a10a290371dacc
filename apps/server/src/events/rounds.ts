/** Work on systems, a round at a time: however often a round is asked for while one runs, one more follows it. */
export interface Rounds {
  /** Asks for a round that begins after now. */
  ask(systemId: string): void;
  /** Begins no more rounds; resolves when those under way have ended. */
  close(): Promise<void>;
}

export interface RoundsOptions {
  readonly work: (systemId: string) => Promise<unknown>;
  readonly onError: (error: unknown, systemId: string) => void;
  /** Rounds at a time, each with a connection; of one system there is never more than one. */
  readonly concurrency: number;
  /** Milliseconds between the end of a system's round and the beginning of its next. */
  readonly rest: number;
}

export function createRounds({ work, onError, concurrency, rest }: RoundsOptions): Rounds {
  const asked = new Set<string>();
  const running = new Map<string, Promise<void>>();
  const resting = new Map<string, NodeJS.Timeout>();
  let closed = false;

  function begin(): void {
    for (const systemId of asked) {
      if (running.size >= concurrency) return;
      if (running.has(systemId) || resting.has(systemId)) continue;
      asked.delete(systemId);
      running.set(systemId, run(systemId));
    }
  }

  async function run(systemId: string): Promise<void> {
    try {
      await work(systemId);
    } catch (error) {
      onError(error, systemId);
    }
    running.delete(systemId);
    if (closed) return;
    resting.set(
      systemId,
      setTimeout(() => wakeUp(systemId), rest),
    );
    begin();
  }

  function wakeUp(systemId: string): void {
    resting.delete(systemId);
    begin();
  }

  return {
    ask(systemId) {
      if (closed) return;
      asked.add(systemId);
      begin();
    },
    async close() {
      closed = true;
      asked.clear();
      for (const timer of resting.values()) clearTimeout(timer);
      resting.clear();
      await Promise.all(running.values());
    },
  };
}
