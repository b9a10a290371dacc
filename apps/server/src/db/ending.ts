/** Milliseconds that a connection has to say goodbye. One that is dead without saying so would hold up a stop for ever. */
const CLOSE_TIMEOUT_MS = 1_000;

/** Waits for connections to end, but not for ever: at the end of the process the system closes what is left. */
export async function closeWithin(ending: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
  });
  try {
    await Promise.race([ending.catch(() => undefined), patience]);
  } finally {
    clearTimeout(timer);
  }
}
